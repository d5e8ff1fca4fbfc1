# SPDX-License-Identifier: GPL-2.0-or-later
"""What arming and cancelling a timer costs inside the kernel, and in the queue alone.

The paper's Figs 2 and 3.
"""

import functools
from dataclasses import dataclass

import numpy as np

from experiments.common import compare, running, runs
from experiments.common.claims import Claim, Found, worst
from experiments.common.experiment import Context, Experiment, Scenario, run_all
from experiments.common.shown import Shown
from experiments.common.stats import Samples, percentile
from experiments.measure import spans
from experiments.measure.results import Measured
from experiments.measure.spans import Span
from experiments.timer_overhead import queue_bench

SPANS = (
    Span("start", "hrtimer_start_range_ns"),
    Span("cancel", "hrtimer_try_to_cancel"),
    Span("enqueue", "enqueue_hrtimer"),
    Span("tree-add", "timerqueue_(linked_)?add"),
    Span("tree-del", "timerqueue_del|rb_erase_linked"),
    Span("wakeup", "hrtimer_wakeup"),
    Span("interrupt", "hrtimer_interrupt"),
    Span("device", r"lapic_next_(event|deadline)|arch_timer_set_next_event_\w+"),
)
@dataclass(frozen=True)
class Operation:
    """Which spans count as it."""

    span: str
    containing: str = ""
    """Only those that contain such a span."""


OPERATIONS = {
    "enqueue_hrtimer": Operation("enqueue"),
    "hrtimer_start_range_ns": Operation("start"),
    "hrtimer_try_to_cancel": Operation("cancel", "tree-del"),
    "queue: add": Operation("tree-add"),
    "queue: remove": Operation("tree-del"),
}


def operation(system: Measured, scenario: str, wanted: Operation) -> Samples:
    """Instructions of each execution of an operation."""
    table = system.table(scenario, "spans")
    samples = spans.select(table, table["span"] == wanted.span)
    if wanted.containing:
        inner = spans.select(table, table["span"] == wanted.containing)
        samples = spans.select(samples, spans.within(inner, samples))
    return np.asarray(samples["instructions"])


WORDS = ("--work=1000", "--arm")
LOADS = (
    ("none", "no load", ""),
    ("sleepers-50", "1 high- and 50 low-priority tasks", "sleepers:n=50"),
    ("spread-50", "1 high- and 50 low-priority tasks of 50 priorities", "sleepers:n=50,spread"),
)
MANY = ("spread-1000", "1 high- and 1,000 low-priority tasks of 90 priorities",
        "sleepers:n=1000,spread,periods=long+drift")
"""With a tenth of the jobs: 55 tasks wake up in a job's period."""


def scenarios(context: Context) -> list[Scenario]:
    """What the program is called with."""
    return [
        Scenario(name, title,
                 (f"--jobs={jobs}", *WORDS, *([f"--load={load}"] if load else [])),
                 10 + 4 * context.jobs // 1000)
        for name, title, load in (*LOADS, MANY)
        for jobs in [context.jobs if name != MANY[0] else max(context.jobs // 10, 1)]
        if context.wants(name)
    ]


def _longer(stock: Measured, shielded: Measured) -> Found | None:
    """The 95th percentile of arming and cancelling."""
    more: dict[str, float] = {}
    for scenario, word in (("none", "no load"), ("sleepers-50", "loaded")):
        for op in ("enqueue_hrtimer", "hrtimer_try_to_cancel"):
            if not compare.both(scenario, stock, shielded):
                continue
            a, b = (operation(s, scenario, OPERATIONS[op]) for s in (shielded, stock))
            if len(a) and len(b):
                more[f"{op}, {word}"] = percentile(a, 95) - percentile(b, 95)
    return worst(more, "{:+.0f}")


class TimerOverhead(Experiment):
    """See the module."""

    name = "timer-overhead"
    title = "What arming and cancelling a timer costs"
    claims = (
        Claim("Arming and cancelling a timer: the 95th percentile is at most {} instructions "
              "longer", _longer, most=30, rows="T30", paper="Figs 2, 3: no load, enqueue +20 ns "
              "(Intel), +180 ns (ARM); loaded, removal +30 ns and +68 ns", shield="2"),
        *queue_bench.CLAIMS,
    )

    shown = (
        Shown("instructions of an operation", lambda system, scenario: {
            name: operation(system, scenario, wanted) for name, wanted in OPERATIONS.items()
            if (system.path / scenario / "spans.csv").exists()},
            drawn=("none", "sleepers-50")),
        queue_bench.SHOWN)

    def scenarios(self) -> dict[str, str]:
        return {queue_bench.SCENARIO: queue_bench.TITLE,
                **{name: title for name, title, _ in (*LOADS, MANY)}}

    def run(self, context: Context) -> None:
        calls = [functools.partial(queue_bench.run, context, self.name)]
        systems = context.systems(off=False)
        if systems and not context.host:
            calls.append(functools.partial(running.run_guest, context, self.name, systems,
                                           runs.PROGRAM, scenarios(context), SPANS))
        run_all(calls)


EXPERIMENT = TimerOverhead()
