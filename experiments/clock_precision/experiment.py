# SPDX-License-Identifier: GPL-2.0-or-later
"""How close ClockFix's oversleep is to the precision of the clock.

S. Reif, W. Schröder-Preikschat, "Precisely Timed Task Execution", section V-B (Figs 2, 5).
"""

from experiments.common import clockfix_curves as figures
from experiments.common.experiment import Context, Experiment
from experiments.learning_cost import experiment as learning_cost
from experiments.oversleep import experiment as oversleep
from lab.measure import clockfix_bench, results
from lab.measure.results import Measured, Store
from lab.report.claims import Claim
from lab.report.page import Figure, Part, Table, Text

SCENARIO = "100us"
TITLE = "100 µs"
INTERVAL = 100_000
RIVALS = {
    "clockfix": "ClockFix, oversleep",
    "filter-max": "the paper's loop, maximum filter, oversleep",
    "poll": "polling loop, oversleep",
}
CLOCKS = {
    "clock_gettime": "clock_gettime, read twice",
    "counter": "CPU's counter, read twice",
}
SECONDS = 20
JOBS = 1_000_000
TIMES = 3.0

HOW = (
    "The clock is read twice in a row, again and again: the difference is the time in which it is "
    "not known when the hardware's clock was looked at, and the least lateness that a job can "
    "have which polls that clock. Beside it the oversleep of jobs each 100 µs."
)
WHY = (
    "Why ours differ from the paper's: other clocks. Here CLOCK_MONOTONIC is read from the CPU's "
    "counter without a system call, as on the paper's Xeon (18 ns); the Odroid's took 1,042 ns. "
    "Many virtual machines' counters advance in steps of some ns, which shows as steps in the "
    "figure."
)


class ClockPrecision(Experiment):
    """See the module."""

    name = "clock-precision"
    title = "Oversleep and the clock's precision (ClockFix)"

    def scenarios(self) -> dict[str, str]:
        return {SCENARIO: TITLE}

    def run(self, context: Context) -> None:
        if not context.wants(SCENARIO):
            return
        with context.progress.bar(f"{self.name}: clockfix-bench", None):
            measured, command = clockfix_bench.run(
                list(RIVALS), [SCENARIO], context.samples(SECONDS), context.samples(JOBS))
        files = learning_cost.measure(context.samples(JOBS))
        system = clockfix_bench.host_system()
        with context.store(self.name).replacing(system.name) as directory:
            (directory / SCENARIO).mkdir()
            for name, data in files.items():
                (directory / SCENARIO / name).write_bytes(data)
            clockfix_bench.keep(directory / SCENARIO, measured, INTERVAL)
            results.write_host_meta(directory, system, {SCENARIO: TITLE},
                                    {SCENARIO: f"{command}; {learning_cost.PROGRAM}"})

    def claims(self, store: Store) -> list[Claim]:
        result = []
        for system in store:
            ours = oversleep.row(system, SCENARIO, "clockfix")
            if ours is None:
                continue
            clock = figures.quantile(system.table(SCENARIO, "costs"), "clock_gettime", 0.5)
            times = ours["p50_ns"] / clock
            result.append(Claim(
                f"ClockFix's median oversleep is below {TIMES:g} times the clock's precision",
                system.system.place,
                f"{ours['p50_ns']:,.0f} ns, clock {clock:,.0f} ns: {times:.2f} times",
                times < TIMES,
                "Fig 5: below 3 times on all machines, but for a tail on the Raspberry Pi"))
        return result

    def parts(self, store: Store) -> list[Part]:
        result: list[Part] = [Text(HOW), Text(WHY)]
        for system in store:
            costs = system.table(SCENARIO, "costs")
            curves = [figures.from_counts(label, costs, what)
                      for what, label in CLOCKS.items()]
            limit = TIMES * figures.quantile(costs, "clock_gettime", 0.5)
            curves += oversleep.curves(system, SCENARIO, RIVALS)
            result.append(Text(system.meta["kernel"] + "."))
            result.append(Figure(
                figures.cdfs([("", curves)], "ns", f"precision-{system.name}",
                             system.meta["kernel"], {f"{TIMES:g} times the clock": limit}),
                "Time between two reads of the clock, and oversleep each 100 µs (the paper's "
                f"Fig 5); {system.summary(SCENARIO)['samples']:,.0f} pairs of reads."))
            result.append(self._clocks(system))
            result.append(oversleep.rivals_table(system, RIVALS))
        return result

    @staticmethod
    def _clocks(system: Measured) -> Table:
        costs = system.table(SCENARIO, "costs")
        return learning_cost.costs_table(costs, CLOCKS, "clock", "Time between two reads, in ns.")


EXPERIMENT = ClockPrecision()
