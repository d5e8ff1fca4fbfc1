# SPDX-License-Identifier: GPL-2.0-or-later
"""What the shield adds to a context switch: the paper's Fig 4."""

import functools
import math
from collections.abc import Callable

from experiments.common import compare, running, runs
from experiments.common.claims import Claim, Found, worst
from experiments.common.experiment import Context, Experiment, Scenario, run_all
from experiments.context_switch.section import (
    added,
    error,
    parts,
    slow_calls,
    throughput,
    timer_work,
)
from experiments.measure.results import Measured, Store
from experiments.measure.spans import Span
from experiments.report.page import Part

SPANS = (
    Span("switch", "__schedule", until="finish_task_switch"),
    Span("threshold", "__timershield_switch", optional=True),
    Span("release", "__timershield_release", optional=True),
    Span("interrupt", "hrtimer_interrupt"),
)
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


def _same(stock: Measured, shielded: Measured) -> Found | None:
    more = {s: added(stock, shielded, s) for s in SAME if compare.both(s, stock, shielded)}
    if not more:
        return None
    calls = sum(slow_calls(shielded, s) for s in more)
    return Found(f"{max(more.values()):+.0f} instructions; threshold changed {calls} times",
                 math.inf if calls else max(more.values()))


def _differ(stock: Measured, shielded: Measured) -> Found | None:
    return worst({s: added(stock, shielded, s) for s in DIFFER
                  if compare.both(s, stock, shielded)}, "at most {:+.0f}")


def _with_timers(stock: Measured, shielded: Measured) -> Found | None:
    if not compare.both(LOADED, stock, shielded):
        return None
    theirs, ours = (timer_work(s, LOADED) for s in (stock, shielded))
    more = ours.total / ours.switches - theirs.total / theirs.switches
    return Found(f"mean {more:+.0f} instructions", more)


def _processing(stock: Measured, shielded: Measured) -> Found | None:
    if not all(compare.both(s, stock, shielded) for s in (LOADED, UNLOADED)):
        return None
    totals, interrupts, each = [], [], []
    for system in (stock, shielded):
        loaded, idle = (timer_work(system, s) for s in (LOADED, UNLOADED))
        totals.append(loaded.total - idle.total)
        interrupts.append(loaded.interrupts - idle.interrupts)
        each.append(totals[-1] / int(system.table(LOADED, "tasks")["served"].sum()))
    fewer, more = interrupts[0] - interrupts[1], totals[1] - totals[0]
    even = (f"; even where an interrupt costs {more / fewer:,.0f} ns more"
            if more > 0 and fewer > 0 else "")
    return Found(f"{each[1]:,.0f} instructions a release in {interrupts[1]:,} interrupts, stock "
                 f"{each[0]:,.0f} in {interrupts[0]:,}{even}", each[1] / each[0])


def _rates(stock: Measured, shielded: Measured) -> Found | None:
    """Throughput over stock's, where it does not scatter too much to be judged."""
    found = {s: throughput(stock, shielded, s) for s in shielded.scenarios
             if not s.startswith("job-") and compare.both(s, stock, shielded)
             and error(stock, shielded, s) <= SCATTER}
    if not found:
        return None
    name = min(found, key=lambda s: found[s])
    return Found(f"least {found[name]:.4f}, in {name}", found[name])


class ContextSwitch(Experiment):
    """See the module."""

    name = "context-switch"
    title = "What the shield adds to a context switch"
    guests_only = "it counts the instructions of the lab's kernels"
    claims = (
        Claim("A switch within a level: at most {} instructions, the threshold unchanged", _same,
              most=10, shield="1 and 2"),
        Claim("A typical switch where levels differ: at most {} instructions more", _differ,
              most=150, paper="Fig 4: below 1 µs in the median on Intel and ARM, processing of "
              "deferred timers included", shield="1 and 2"),
        Claim("Deferred timers included, a switch next to 50 low-priority tasks takes at most {} "
              "instructions more on average", _with_timers, most=1000, rows="T31",
              paper="Fig 4: below 1 µs in the median on Intel and ARM", shield="2"),
        Claim("Timer interrupts and switches together take no more for each release of 50 "
              "low-priority tasks", _processing, most=1, rows="T39", paper="Slides, timer "
              "processing delay: one batch in the switch takes less than the interrupts would "
              "have", shield="2"),
        Claim("Ping-pong and messages: at least {} of stock's throughput", _rates, least=0.99,
              shield="1 and 2"),
    )

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

    def parts(self, store: Store) -> list[Part]:
        return parts(store)


EXPERIMENT = ContextSwitch()
