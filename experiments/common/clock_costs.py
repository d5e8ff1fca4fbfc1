# SPDX-License-Identifier: GPL-2.0-or-later
"""What clock-precision and learning-cost share: they time reads of the clock on this machine."""

import os
import subprocess
import tempfile
from abc import abstractmethod
from pathlib import Path

from experiments.common.clockfix_curves import Curve, cdfs, from_counts, quantile
from experiments.common.experiment import Context, Experiment
from experiments.report.page import Figure, Part, Table, Text
from lab import processes
from lab.errors import LabError
from lab.kernels import guests
from lab.kernels.arch import own
from lab.measure import clockfix_bench, results
from lab.measure.results import Measured, Store

PROGRAM = "learning_cost"
SAMPLES = 1_000_000
PERCENTS = (1, 50, 95, 99, 99.9, 100)


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


class ClockCosts(Experiment):
    """An experiment whose costs.csv counts how long something took."""

    scenario: str
    texts: tuple[str, ...]
    timed: dict[str, str]
    """What costs.csv has, and what the report calls it."""
    head: str
    caption: str

    def scenarios(self) -> dict[str, str]:
        return {self.scenario: self.scenario}

    def bench(self, context: Context, directory: Path) -> str:
        """Measure what costs.csv does not have; the command, if there was one."""
        return ""

    def run(self, context: Context) -> None:
        if not context.wants(self.scenario):
            return
        system, samples = clockfix_bench.host_system(), context.samples(SAMPLES)
        with (context.progress.bar(f"{self.name}: measuring", None),
              context.store(self.name).replacing(system.name) as directory):
            (directory / self.scenario).mkdir()
            for name, data in measure(samples).items():
                (directory / self.scenario / name).write_bytes(data)
            command = self.bench(context, directory / self.scenario)
            command += f"{PROGRAM} --samples={samples}"
            results.write_host_meta(directory, system, self.scenarios(), {self.scenario: command})

    @abstractmethod
    def drawn(self, system: Measured) -> tuple[list[Curve], dict[str, float], str, list[Part]]:
        """Curves next to those of costs.csv, marks, the caption, and what comes after."""

    def parts(self, store: Store) -> list[Part]:
        result: list[Part] = [Text(t) for t in self.texts]
        for system in store:
            costs, kernel = system.table(self.scenario, "costs"), system.meta["kernel"]
            curves = [from_counts(label, costs, what) for what, label in self.timed.items()]
            more, marks, caption, rest = self.drawn(system)
            figure = cdfs([("", curves + more)], "ns", f"{self.name}-{system.name}", kernel, marks)
            pairs = system.summary(self.scenario)["samples"]
            result += [Text(kernel + "."), Figure(figure, f"{caption} {pairs:,.0f} samples."),
                       self._table(costs), *rest]
        return result

    def _table(self, costs: results.Table) -> Table:
        cells = []
        for what, label in self.timed.items():
            count = int(costs["count"][costs["what"] == what].sum())
            cells.append([label, *(f"{quantile(costs, what, p / 100):,.0f}" for p in PERCENTS),
                          f"{count:,}"])
        return Table([self.head, "p1", "p50", "p95", "p99", "p99.9", "max", "samples"], cells,
                     self.caption)
