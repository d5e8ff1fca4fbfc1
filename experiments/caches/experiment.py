# SPDX-License-Identifier: GPL-2.0-or-later
"""How often a switch, an arm, an expiry and a job miss modelled caches, stock against shielded."""

from dataclasses import replace

import numpy as np

from experiments.common import compare, runs
from experiments.common.experiment import Context, Experiment
from experiments.common.runs import Load
from experiments.report.page import Part, Table, Text
from experiments.report.stats import percentile
from lab.measure import spans
from lab.measure.results import Measured, Store
from lab.measure.spans import Span

SPANS = (
    Span("switch", "__schedule", until="finish_task_switch", misses=True),
    Span("arm", "hrtimer_start_range_ns", misses=True),
    Span("interrupt", "hrtimer_interrupt", misses=True),
    Span("job", "__(x64|arm64)_sys_timerfd_settime", until="__(x64|arm64)_sys_clock_nanosleep",
         through=spans.INTERRUPTS, misses=True),
)
ARM = ("--arm",)
LOADS = (
    Load("caches-none", "no load", "", ARM, off=False),
    Load("caches-sleepers-50", "50 FIFO-70 sleepers", "sleepers:n=50,periods=drift", ARM,
         off=False),
    Load("caches-timerfds-1000", "1,000 timerfds of one process", "timerfds:n=1000", ARM,
         off=False),
)
JOBS = 200


class Caches(Experiment):
    """See the module."""

    name = "caches"
    title = "Cache misses, modelled"
    choices = LOADS
    guests_only = "a plugin of the emulator models the caches"

    def run(self, context: Context) -> None:
        few = replace(context, jobs=context.samples(JOBS)).without_off()
        runs.run(few, self.name, LOADS, watched=SPANS)

    def parts(self, store: Store) -> list[Part]:
        return [Text(
            "A plugin of the emulator follows every instruction and every access to memory "
            "through a model: 32 KiB for instructions and 32 KiB for data, 8 ways, and 1 MiB "
            "behind both, 16 ways; lines of 64 bytes, the one used longest ago makes room. It "
            "models no prefetching, no page walks and no speculation. A job is what lies between "
            "its last system call and its next sleep, interrupts included: it touches no memory "
            "itself."), *compare.by_platform(store, lambda _, modes: [_table(modes)])]


def _table(modes: compare.Modes) -> Table:
    rows = []
    for load in LOADS:
        for span in SPANS:
            for mode, system in compare.having(modes, load.name):
                rows.append([load.title, span.name, mode, *_cells(system, load.name, span.name)])
    return Table(["load", "what", "kernel", "L1 p50", "L1 p95", "L1 mean", "L2 mean",
                  "instructions p50", "samples"], rows, "Misses of one execution.",
                 text_columns=3)


def _cells(system: Measured, scenario: str, span: str) -> list[str]:
    table = system.table(scenario, "spans")
    samples = spans.select(table, table["span"] == span)
    count = len(samples["span"])
    if not count:
        return ["", "", "", "", "", "0"]
    l1, l2 = (np.asarray(samples[f"l{i}_misses"]) for i in (1, 2))
    return [f"{percentile(l1, 50):.0f}", f"{percentile(l1, 95):.0f}", f"{l1.mean():.1f}",
            f"{l2.mean():.2f}", f"{percentile(np.asarray(samples['instructions']), 50):.0f}",
            f"{count:,}"]


EXPERIMENT = Caches()
