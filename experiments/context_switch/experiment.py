# SPDX-License-Identifier: GPL-2.0-or-later
"""What the shield adds to a context switch: the paper's Fig 4."""

import functools
from collections.abc import Callable

from experiments.common import compare, running
from experiments.common.experiment import Context, Experiment, Scenario, run_all
from experiments.context_switch.section import (
    SAME_LEVEL,
    added,
    error,
    parts,
    slow_calls,
    throughput,
    timer_work,
)
from experiments.report.claims import Claim
from experiments.report.page import Part
from experiments.response_loop import runs
from lab.measure.results import Measured, Store
from lab.measure.spans import Span

SPANS = (
    Span("switch", "__schedule", until="finish_task_switch"),
    Span("threshold", "__timershield_switch", optional=True),
    Span("interrupt", "hrtimer_interrupt"),
)
MEDIAN_NS = 150
WITH_TIMERS_NS = 1000
"""The paper's own, in the median."""
THROUGHPUT = 0.99
SCATTER = 0.0025
SAME = ("fair", "fifo", "fair-50", "fifo-50")
DIFFER = ("fifo-fifo", "fifo-fair", "fifo-fifo-50", "fifo-fair-50", "job-none", "job-sleepers-50")
FEW = 10
"""Rounds of messages at least: a standard error of two says nothing."""
SLEEPERS = 50
LEVELS = (
    ("fair", "two ordinary tasks", "0,0"),
    ("fifo", "two tasks of FIFO 80", "80,80"),
    ("fifo-fifo", "FIFO 80 and FIFO 70", "80,70"),
    ("fifo-fair", "FIFO 80 and an ordinary task", "80,0"),
)
UNLOADED, LOADED = "job-none", "job-sleepers-50"
PAPER = (
    (UNLOADED, "1 kHz job, no load", ""),
    (LOADED, "1 kHz job next to 50 low-priority tasks", "sleepers:n=50"),
)


def everything(samples: Callable[[int], int], jobs: int, arch: str) -> list[Scenario]:
    """Ping-pong with and without timers that wait, messages, and the paper's set-up.

    ``samples`` says how many to take of something of which there usually are so many.
    """
    found = []
    rounds = samples(2000)
    for sleepers in (0, SLEEPERS):
        for name, title, priorities in LEVELS:
            suffix = f"-{sleepers}" if sleepers else ""
            among = f", {sleepers} timers waiting" if sleepers else ""
            found.append(Scenario(
                f"{name}{suffix}", f"{title}{among}",
                (f"--priority={priorities}", f"--repeats={rounds}", f"--sleepers={sleepers}")))
        for kind, word, priority, repeats in (("", "ordinary tasks", 0, 60),
                                              ("-fifo", "tasks of FIFO 80", 80, 40)):
            found.append(Scenario(
                f"messages{kind}{suffix}", f"20 {word} sending messages{among}",
                ("--groups=2", f"--priority={priority}",
                 f"--repeats={max(samples(repeats), FEW)}", "--messages=20",
                 f"--sleepers={sleepers}")))
    for name, title, load in PAPER:
        words = (f"--jobs={jobs}", f"--work={runs.ROUNDS[arch]}")
        found.append(Scenario(name, title, words + ((f"--load={load}",) if load else ()),
                              program=runs.PROGRAM))
    return found


def scenarios(context: Context, arch: str) -> list[Scenario]:
    """What the user asked for."""
    return [s for s in everything(context.samples, context.jobs, arch) if context.wants(s.name)]


def _rates(stock: Measured, shielded: Measured) -> dict[str, float]:
    """Scenario -> throughput over stock's, where it does not scatter too much to be judged."""
    return {
        s: throughput(stock, shielded, s) for s in shielded.scenarios
        if not s.startswith("job-") and compare.both(s, stock, shielded)
        and error(stock, shielded, s) <= SCATTER
    }


class ContextSwitch(Experiment):
    """See the module."""

    name = "context-switch"
    title = "What the shield adds to a context switch"
    guests_only = "it counts the instructions of the lab's kernels"

    def scenarios(self) -> dict[str, str]:
        return {s.name: s.title for s in everything(int, 1, "x86_64")}

    def run(self, context: Context) -> None:
        calls = []
        for arch in ("x86_64", "arm64"):
            if systems := context.systems(arch, off=False):
                calls.append(functools.partial(
                    running.run_guest, context, self.name, systems, "context_switch",
                    scenarios(context, arch), SPANS))
        run_all(calls)

    def claims(self, store: Store) -> list[Claim]:
        def same(stock: Measured, shielded: Measured) -> compare.Found:
            more = {s: added(stock, shielded, s) for s in SAME if compare.both(s, stock, shielded)}
            if not more:
                return None
            calls = sum(slow_calls(shielded, s) for s in more)
            return (f"{max(more.values()):+.0f} instructions; threshold changed {calls} times",
                    calls == 0 and max(more.values()) <= SAME_LEVEL)

        def differ(stock: Measured, shielded: Measured) -> compare.Found:
            more = {s: added(stock, shielded, s) for s in DIFFER
                    if compare.both(s, stock, shielded)}
            return (", ".join(f"{s} {n:+.0f}" for s, n in more.items()),
                    max(more.values()) <= MEDIAN_NS) if more else None

        def with_timers(stock: Measured, shielded: Measured) -> compare.Found:
            if not compare.both(LOADED, stock, shielded):
                return None
            more = [timer_work(s, LOADED).per_switch for s in (stock, shielded)]
            return (f"mean {more[1] - more[0]:+.0f} instructions",
                    more[1] - more[0] <= WITH_TIMERS_NS)

        def processing(stock: Measured, shielded: Measured) -> compare.Found:
            if not all(compare.both(s, stock, shielded) for s in (LOADED, UNLOADED)):
                return None
            theirs, ours = (timer_work(s, LOADED, UNLOADED) for s in (stock, shielded))
            fewer = theirs.interrupts - ours.interrupts
            more = ours.total - theirs.total
            even = (f"; even where an interrupt costs {more / fewer:,.0f} ns more"
                    if more > 0 and fewer > 0 else "")
            return (f"{ours.per_release:,.0f} instructions a release in {ours.interrupts:,} "
                    f"interrupts, stock {theirs.per_release:,.0f} in {theirs.interrupts:,}{even}",
                    ours.per_release <= theirs.per_release)

        def rates(stock: Measured, shielded: Measured) -> compare.Found:
            found = _rates(stock, shielded)
            return (", ".join(f"{s} {r:.4f}" for s, r in found.items()),
                    min(found.values()) >= THROUGHPUT) if found else None

        return [
            *compare.claims(store, f"A switch between tasks of one level takes at most {SAME_LEVEL}"
                            " instructions more, and does not change the threshold", same),
            *compare.claims(
                store, f"A typical switch where levels differ: at most {MEDIAN_NS} instructions "
                "more", differ, "Fig 4: below 1 µs in the median on Intel and ARM, processing of "
                "deferred timers included"),
            *compare.claims(
                store, "Deferred timers included, a switch next to 50 low-priority tasks takes at "
                f"most {WITH_TIMERS_NS} instructions more on average", with_timers,
                "Fig 4: below 1 µs in the median on Intel and ARM"),
            *compare.claims(
                store, "Timer interrupts and switches together take no more for each release of 50 "
                "low-priority tasks", processing, "Slides, timer processing delay: one batch in "
                "the switch takes less than the interrupts would have"),
            *compare.claims(store, f"Ping-pong and messages: at least {THROUGHPUT} of stock's "
                            "throughput", rates),
        ]

    def parts(self, store: Store) -> list[Part]:
        return parts(store)


EXPERIMENT = ContextSwitch()
