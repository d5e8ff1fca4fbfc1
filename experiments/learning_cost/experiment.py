# SPDX-License-Identifier: GPL-2.0-or-later
"""What ClockFix's estimators take to learn from an oversleep.

S. Reif, W. Schröder-Preikschat, "Precisely Timed Task Execution", section V-C (Fig 6).
"""

import os
import subprocess
import tempfile
from pathlib import Path

from experiments.common import clockfix_curves as figures
from experiments.common.experiment import Context, Experiment
from lab import processes
from lab.errors import LabError
from lab.kernels import guests
from lab.kernels.arch import own
from lab.measure import clockfix_bench, results
from lab.measure.results import Store
from lab.report.claims import Claim
from lab.report.page import Figure, Part, Table, Text

PROGRAM = "learning_cost"
SCENARIO = "learning"
TITLE = "learning"
SAMPLES = 1_000_000
MOST_NS = 200
FUNCTIONS = {
    "learn-nothing": "nothing: the measurement itself",
    "learn-ema": "moving average",
    "learn-average": "average of 64 (the paper's)",
    "learn-maximum": "maximum of 64 (the paper's)",
    "learn-default": "ClockFix's own",
}
PERCENTS = (1, 50, 95, 99, 99.9, 100)

HOW = (
    "The clock is read, an estimator of the library is given an oversleep, the clock is read "
    "again. The oversleeps are a fixed series, most alike and one in 64 much longer. \"Nothing\" "
    "is the same without an estimator: the clock's precision."
)
WHY = (
    "Why ours differ from the paper's: another CPU and clock, whose steps of some ns are seen; "
    "and the library keeps its window sorted, so that any rank can be had. "
    "ClockFix counts with its learning's cost: it learns between waking up and the job if there "
    "is twice that time, else after the job."
)


def measure(samples: int) -> dict[str, bytes]:
    """Run the program here; the files that it leaves."""
    program = guests.build(own().name, [PROGRAM]) / PROGRAM
    cpu = max(os.sched_getaffinity(0))
    words = [str(program), f"--samples={samples}", f"--cpu={cpu}"]
    if os.geteuid():
        words.append("--priority=0")
    with tempfile.TemporaryDirectory(prefix="timershield-") as name:
        done = processes.run(words, name, stderr=subprocess.PIPE)
        if done.returncode:
            raise LabError(f"{PROGRAM} failed with status {done.returncode}: "
                           f"{done.stderr.strip()}")
        return {p.name: p.read_bytes() for p in sorted(Path(name).iterdir())}


def costs_table(costs: results.Table, rows: dict[str, str], head: str, caption: str) -> Table:
    """Percentiles of what is in costs.csv."""
    cells = []
    for what, label in rows.items():
        count = int(costs["count"][costs["what"] == what].sum())
        cells.append([label, *(f"{figures.quantile(costs, what, p / 100):,.0f}"
                               for p in PERCENTS), f"{count:,}"])
    return Table([head, "p1", "p50", "p95", "p99", "p99.9", "max", "samples"], cells, caption)


class LearningCost(Experiment):
    """See the module."""

    name = "learning-cost"
    title = "What learning takes (ClockFix)"

    def scenarios(self) -> dict[str, str]:
        return {SCENARIO: TITLE}

    def run(self, context: Context) -> None:
        if not context.wants(SCENARIO):
            return
        samples = context.samples(SAMPLES)
        with context.progress.bar(f"{self.name}: {PROGRAM}", None):
            files = measure(samples)
        system = clockfix_bench.host_system()
        with context.store(self.name).replacing(system.name) as directory:
            (directory / SCENARIO).mkdir()
            for name, data in files.items():
                (directory / SCENARIO / name).write_bytes(data)
            results.write_host_meta(directory, system, {SCENARIO: TITLE},
                                    {SCENARIO: f"{PROGRAM} --samples={samples}"})

    def claims(self, store: Store) -> list[Claim]:
        result = []
        for system in store:
            costs = system.table(SCENARIO, "costs")
            medians = {what: figures.quantile(costs, what, 0.5) for what in FUNCTIONS}
            names = {"learn-nothing": "nothing", "learn-ema": "moving average",
                     "learn-average": "average", "learn-maximum": "maximum",
                     "learn-default": "ClockFix's own"}
            found = ", ".join(f"{n} {medians[w]:,.0f}" for w, n in names.items())
            result.append(Claim(
                f"Learning takes at most {MOST_NS} ns, whichever the filter", system.system.place,
                f"medians in ns: {found}", max(medians.values()) <= MOST_NS,
                "Fig 6 (Xeon): average and maximum about 80 ns, moving average less, nothing "
                "18 ns"))
        return result

    def parts(self, store: Store) -> list[Part]:
        result: list[Part] = [Text(HOW), Text(WHY)]
        for system in store:
            costs = system.table(SCENARIO, "costs")
            curves = [figures.from_counts(label, costs, what)
                      for what, label in FUNCTIONS.items()]
            samples = system.summary(SCENARIO)["samples"]
            result.append(Text(system.meta["kernel"] + "."))
            result.append(Figure(
                figures.cdfs([("", curves)], "ns", f"learning-{system.name}",
                             system.meta["kernel"], {"the paper: 80 ns": 80}),
                f"Time to learn (the paper's Fig 6); {samples:,.0f} samples a curve."))
            result.append(costs_table(costs, FUNCTIONS, "learning function",
                                            "Time in ns, the measurement itself included."))
        return result


EXPERIMENT = LearningCost()
