# SPDX-License-Identifier: GPL-2.0-or-later
"""What the shield's bound costs a job longer than a tick, and what neighbour CPUs see of it."""

import math
from dataclasses import replace

import numpy as np

from experiments.bounds import bound
from experiments.common import compare, runs
from experiments.common.claims import SHIELDED, Claim, Found
from experiments.common.experiment import Context, Experiment
from experiments.common.runs import Load
from experiments.measure import spans
from experiments.measure.results import Measured, Store
from experiments.measure.spans import Span
from experiments.report.page import Part, Table, Text
from experiments.report.stats import Samples, summarize
from lab.kernels.platforms import Mode

LONG = ("--period=40000000", "--jobs=100", "--warmup=2", "--arm")
WORK_FACTOR = 67
"""Times 300 us, the work of other experiments' jobs, is 20 ms."""
TURN = 1
"""us that a virtual CPU executes at most before the other has its turn."""
SPANS = (
    Span("interrupt", "hrtimer_interrupt"),
    Span("switch", "__schedule", until="finish_task_switch"),
    Span("job", "__(x64|arm64)_sys_timerfd_settime", until="__(x64|arm64)_sys_clock_nanosleep",
         through=spans.INTERRUPTS),
)
GAP = ("--gap=1150", "--anywhere")
"""A turn of the other CPU is no interruption; the shortest timer interrupt is longer."""

LONG_LOADS = (
    Load("long-none", "20 ms job, no load", "", LONG),
    Load("long-timerfds-1000", "20 ms job, 1,000 timerfds", "timerfds:n=1000", LONG),
    Load("long-sleepers-1000", "20 ms job, 1,000 FIFO-70 sleepers",
         "sleepers:n=1000,periods=long+drift", LONG),
)
TWO_CPU_LOADS = (
    Load("two-none", "two CPUs, no load", "", GAP, off=False),
    Load("two-sleepers-100", "two CPUs, 100 FIFO-70 sleepers", "sleepers:n=100,periods=drift",
         GAP, off=False),
    Load("two-threads-200", "two CPUs, 200 ordinary threads", "threads:n=200", GAP, off=False),
)


def _longer(stock: Measured, shielded: Measured) -> Found | None:
    """The share by which timers of others lengthen the long job's median."""
    idle, *loaded = (load.name for load in LONG_LOADS)
    names = [n for n in loaded if all(compare.both(s, stock, shielded) for s in (idle, n))]
    if not names:
        return None
    theirs, ours = ({n: summarize(s.table(n, "jobs")["response_ns"]).p50 for n in (idle, *names)}
                    for s in (stock, shielded))
    more = {n: (ours[n] / ours[idle] - 1, theirs[n] / theirs[idle] - 1) for n in names}
    return Found("; ".join(f"{n}: median {a:+.2%}, stock {b:+.2%}" for n, (a, b) in more.items()),
                 max(a for a, _ in more.values()))


def _unbounded(shielded: Measured, unbounded: Measured) -> Found | None:
    """What the bound costs the job, and what it is worth to the tasks that are masked."""
    idle, *_, loaded = (load.name for load in LONG_LOADS)
    if not all(compare.both(s, shielded, unbounded) for s in (idle, loaded)):
        return None
    words = []
    for system in (unbounded, shielded):
        alone, next_to = (summarize(system.table(s, "jobs")["response_ns"]).p50
                          for s in (idle, loaded))
        late = system.table(loaded, "releases")["lateness_ns"]
        words.append(f"job {next_to / alone - 1:+.2%}, sleepers up to {late.max() / 1e6:.1f} ms")
    return Found("without a bound: {}; with it: {}".format(*words))


def _ticks(system: Measured, scenario: str) -> Samples:
    """Instructions of the interrupts that came while the job ran."""
    table = system.table(scenario, "spans")
    jobs, interrupts = (spans.select(table, table["span"] == s) for s in ("job", "interrupt"))
    ends = jobs["begin"] + jobs["instructions"]
    job = np.searchsorted(ends, interrupts["begin"])
    begins = np.append(jobs["begin"], np.iinfo(np.int64).max)
    ticks: Samples = interrupts["instructions"][begins[job] <= interrupts["begin"]]
    return ticks


def _constants(shielded: Measured) -> Found | None:
    """Of the bound, counted as docs/bound.md says."""
    idle, *_, loaded = (load.name for load in LONG_LOADS)
    if not all((shielded.path / s / "spans.csv").exists() for s in (idle, loaded)):
        return None
    ticks = [_ticks(shielded, s) for s in (idle, loaded)]
    if not all(map(len, ticks)):
        return None
    table = shielded.table(loaded, "spans")
    now = bound.Constants(int(ticks[1].max() - ticks[0].min()),
                          int(table["instructions"][table["span"] == "switch"].max()))
    words = f"a tick {now.held_tick:,}, a switch {now.switch:,}"
    if not (known := bound.counted(shielded)):
        return Found(words)
    return Found(f"{words}; counted before: {known.held_tick:,}, {known.switch:,}",
                 max(a / b for a, b in zip(now, known, strict=True)))


def _tight(shielded: Measured) -> Found | None:
    found = {n: v for n, v in bound.losses(shielded).items() if n.startswith("long-")}
    if not found:
        return None
    name = max(found, key=lambda n: found[n][0])
    lost, most = found[name]
    return Found(f"{most:,.0f} ns, {name} lost {lost:,.0f}",
                 most / lost if lost > 0 else math.inf)


class Bounds(Experiment):
    """See the module."""

    name = "bounds"
    title = "A job longer than a tick, and tasks that another CPU may run"
    choices = LONG_LOADS + TWO_CPU_LOADS
    claims = (
        Claim("A 20 ms job is hardly longer next to 1,000 timers of others: at most {:.1%}",
              _longer, most=0.003, paper="masks for as long as the job runs", rows="T10",
              shield="1 and 2"),
        Claim("Next to 1,000 sleepers: what the bound of the mask costs and gives", _unbounded,
              paper="none; late by as much as the job runs", of=("shielded", "unbounded"),
              rows="T43", shield="2"),
        bound.CLAIM,
        Claim("The constants of the bound, counted again, are not greater", _constants, most=1,
              of=SHIELDED, shield="2"),
        Claim("The bound is at most {} times what the long job lost", _tight, most=2, of=SHIELDED,
              shield="1 and 2"),
    )

    def run(self, context: Context) -> None:
        compared = {Mode.STOCK, Mode.SHIELDED} <= set(context.modes) and not context.host
        more = [Mode.UNBOUNDED] if compared else []
        runs.run(replace(context, modes=[*context.modes, *more]), self.name, LONG_LOADS,
                 work_factor=WORK_FACTOR, watched=SPANS)
        if not context.host:
            runs.run(context, self.name, TWO_CPU_LOADS, cpus=2, turn=TURN)

    def parts(self, store: Store) -> list[Part]:
        return [Text(
            "The shield holds no timer for longer than a tick. A job of 20 ms therefore pays for "
            "those that its ticks release. With two CPUs, the job runs on one; the loads may run "
            "on both. Interruptions are gaps above 1.15 µs there, as the other CPU's turns of "
            "1 µs are gaps, too; a response contains what both CPUs execute."),
            *compare.by_platform(store, lambda _, modes: [_table(modes)])]


def _table(modes: compare.Modes) -> Table:
    rows = []
    for load in LONG_LOADS + TWO_CPU_LOADS:
        for mode, system in compare.having(modes, load.name, tuple(Mode)):
            rows.append([load.title, mode, *_cells(system, load.name)])
    return Table(["load", "kernel", "p50", "p99", "max", "interruptions/job", "jobs",
                  "others' mean lateness", "p99", "max", "wake-ups"], rows,
                 "Responses of the job and lateness of the load's tasks in µs.", text_columns=2)


def _cells(system: Measured, scenario: str) -> list[str]:
    jobs = system.table(scenario, "jobs")
    s = summarize(jobs["response_ns"])
    cells = [f"{v / 1000:.2f}" for v in (s.p50, s.p99, s.maximum)]
    cells += [f"{jobs['interruptions'].mean():.3f}", f"{s.count:,}"]
    if scenario.endswith("none"):
        return cells + [""] * 4
    late = system.table(scenario, "releases")["lateness_ns"]
    if not len(late):
        return cells + [""] * 4
    s = summarize(late)
    cells += [f"{v / 1000:.2f}" for v in (float(late.mean()), s.p99, s.maximum)]
    return [*cells, f"{s.count:,}"]


EXPERIMENT = Bounds()
