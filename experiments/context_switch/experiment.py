# SPDX-License-Identifier: GPL-2.0-or-later
"""What the shield adds to a context switch: the paper's Fig 4, and its slides.

What two tasks that wake each other take is a row of price.
"""

import functools
from dataclasses import dataclass

import numpy as np

from experiments.common import compare, running, runs
from experiments.common.claims import Claim, Found
from experiments.common.experiment import Context, Experiment, run_all
from experiments.common.runs import Load
from experiments.common.shown import Shown, column
from experiments.measure import spans
from experiments.measure.results import Measured, Table
from experiments.measure.spans import Span

SPANS = (
    Span("switch", "__schedule", until="finish_task_switch"),
    Span("release", "__hrtimer_(mask|release)_tasks", optional=True),
    Span("interrupt", "hrtimer_interrupt"),
)
UNLOADED, LOADED = "job-none", "job-sleepers-50"
LOADS = (
    Load(UNLOADED, "1 kHz job, no load"),
    Load(LOADED, "1 kHz job next to 50 low-priority tasks", "sleepers:n=50"),
)


def _of(system: Measured, scenario: str, span: str) -> Table:
    table = system.table(scenario, "spans")
    return spans.select(table, table["span"] == span)


@dataclass(frozen=True)
class TimerWork:
    """Instructions of switches, what they expire and timer interrupts together, in a window."""

    total: int
    switches: int
    interrupts: int


def timer_work(system: Measured, scenario: str) -> TimerWork:
    """Of a scenario; what a switch expires before it has ended is counted once."""
    switch, released, interrupt = (_of(system, scenario, s)
                                   for s in ("switch", "release", "interrupt"))
    ends = np.append(switch["begin"] + switch["instructions"], 0)
    around = ends[np.searchsorted(switch["begin"], released["begin"]) - 1]
    apart = released["instructions"][around <= released["begin"]]
    return TimerWork(int(switch["instructions"].sum() + apart.sum()
                         + interrupt["instructions"].sum()),
                     len(switch["span"]), len(interrupt["span"]))


def _with_timers(stock: Measured, shielded: Measured) -> Found | None:
    if not compare.both(LOADED, stock, shielded):
        return None
    theirs, ours = (timer_work(s, LOADED) for s in (stock, shielded))
    more = ours.total / ours.switches - theirs.total / theirs.switches
    return Found(f"mean {more:+.0f} instructions", more)


def _processing(stock: Measured, shielded: Measured) -> Found | None:
    if not all(compare.both(s, stock, shielded) for s in (LOADED, UNLOADED)):
        return None
    interrupts, each = [], []
    for system in (stock, shielded):
        loaded, idle = (timer_work(system, s) for s in (LOADED, UNLOADED))
        interrupts.append(loaded.interrupts - idle.interrupts)
        each.append((loaded.total - idle.total)
                    / int(system.table(LOADED, "tasks")["served"].sum()))
    return Found(f"{each[1]:,.0f} instructions a release, stock {each[0]:,.0f}; interrupts "
                 f"{interrupts[1]:,}, stock {interrupts[0]:,}", each[1] / each[0])


class ContextSwitch(Experiment):
    """See the module."""

    name = "context-switch"
    title = "What the shield adds to a context switch"
    guests_only = "it counts the instructions of the lab's kernels"
    choices = LOADS
    claims = (
        Claim("Deferred timers included, a switch next to 50 low-priority tasks takes at most {} "
              "instructions more on average", _with_timers, most=1000, rows="T31",
              paper="Fig 4: below 1 µs in the median on Intel and ARM", shield="2"),
        Claim("Timer interrupts and switches together take no more for each release of 50 "
              "low-priority tasks", _processing, most=1, rows="T39", paper="Slides, timer "
              "processing delay: one batch in the switch takes less than the interrupts would "
              "have", shield="2"),
    )
    shown = (Shown("instructions from __schedule() to the next task, and others",
                   column("spans", "instructions", "span"), paper={"the paper: below 1 µs": 1000}),)

    def run(self, context: Context) -> None:
        calls = []
        for arch in ("x86_64", "arm64"):
            systems = context.systems(arch, off=False)
            wanted = runs.scenarios(context, LOADS, runs.ROUNDS[arch], arch)
            if systems and wanted:
                calls.append(functools.partial(running.run_guest, context, self.name, systems,
                                               runs.PROGRAM, wanted, SPANS))
        run_all(calls)


EXPERIMENT = ContextSwitch()
