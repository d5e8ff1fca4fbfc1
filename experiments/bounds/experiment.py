# SPDX-License-Identifier: GPL-2.0-or-later
"""What the shield's bound costs a job longer than a tick, and what neighbour CPUs see of it."""

from experiments.common import compare
from experiments.common.experiment import Context, Experiment
from experiments.report.claims import Claim
from experiments.report.page import Part, Table, Text
from experiments.report.stats import summarize
from experiments.response_loop import bound, runs
from experiments.response_loop.runs import Load
from lab.measure import spans
from lab.measure.results import Measured, Store
from lab.measure.spans import Span

LONG = ("--period=40000000", "--jobs=100", "--warmup=2", "--arm")
WORK_FACTOR = 67
"""Times 300 us, the work of other experiments' jobs, is 20 ms."""
LONGER = 0.003
TIGHT = 2
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


def _longer(system: Measured) -> dict[str, float]:
    """Load -> the share by which timers of others lengthen the long job's median."""
    idle, *_ = names = [load.name for load in LONG_LOADS if system.has(load.name)] or [""]
    if idle != LONG_LOADS[0].name:
        return {}
    medians = {n: summarize(system.table(n, "jobs")["response_ns"]).p50 for n in names}
    return {n: medians[n] / medians[idle] - 1 for n in names[1:]}


class Bounds(Experiment):
    """See the module."""

    name = "bounds"
    title = "A job longer than a tick, and tasks that another CPU may run"

    def scenarios(self) -> dict[str, str]:
        return runs.titles(LONG_LOADS + TWO_CPU_LOADS)

    def run(self, context: Context) -> None:
        runs.run(context, self.name, LONG_LOADS, work_factor=WORK_FACTOR, watched=SPANS)
        if not context.host:
            runs.run(context, self.name, TWO_CPU_LOADS, cpus=2, turn=TURN)

    def claims(self, store: Store) -> list[Claim]:
        def judge(stock: Measured, shielded: Measured) -> compare.Found:
            ours, theirs = _longer(shielded), _longer(stock)
            both = [n for n in ours if n in theirs]
            return ("; ".join(f"{n}: median {ours[n]:+.2%}, stock {theirs[n]:+.2%}" for n in both),
                    max(ours[n] for n in both) <= LONGER) if both else None

        def tight(shielded: Measured) -> compare.Found:
            found = {n: v for n, v in bound.losses(shielded).items() if n.startswith("long-")}
            if not found or shielded.system.cpus > 1:
                return None
            name = max(found, key=lambda n: found[n][0])
            lost, most = found[name]
            return f"{most:,.0f} ns, {name} lost {lost:,.0f}", most <= TIGHT * lost

        return [
            *compare.claims(
                store, "A 20 ms job is hardly longer next to 1,000 timers of others: at most "
                f"{LONGER:.1%}", judge, "masks for as long as the job runs"),
            *bound.claims(store),
            *compare.claims(store, f"The bound is at most {TIGHT} times what the long job lost",
                            tight, of=("shielded",)),
        ]

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
        for mode, system in compare.having(modes, load.name, ("stock", "off", "shielded")):
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
