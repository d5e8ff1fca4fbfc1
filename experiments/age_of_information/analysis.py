# SPDX-License-Identifier: GPL-2.0-or-later
"""One scenario's samples, analysed."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from experiments.age_of_information import packets
from experiments.age_of_information.packets import Ages
from experiments.measure.results import Measured, Table
from experiments.report.stats import percentile

BASELINE = "nanosleep"
OURS = "clockfix"
LIMIT = "poll"


@dataclass(frozen=True)
class Analysis:
    """What a run of a scenario shows."""

    packets: Table
    iterations: Table
    ages: dict[str, Ages]

    def median(self, timing: str, part: str = "age") -> float:
        """The median of a part of the age."""
        return percentile(getattr(self.ages[timing], part), 50)

    def change(self, timing: str, part: str = "age") -> float:
        """How much the median differs from that with clock_nanosleep."""
        return self.median(timing, part) / self.median(BASELINE, part) - 1

    def cpu_share(self, timing: str, side: str) -> float:
        """CPU time of the ``sender`` or ``receiver``."""
        chosen = self.iterations["timing"] == timing
        return float(self.iterations[f"{side}_cpu_ns"][chosen].sum()
                     / self.iterations["elapsed_ns"][chosen].sum())


@lru_cache
def _analyse(path: Path, scenario: str, stamp: float) -> Analysis:
    system = Measured(path)
    table = system.table(scenario, "packets")
    iterations = system.table(scenario, "iterations")
    return Analysis(table, iterations, {t: packets.ages(table, iterations, t)
                                        for t in packets.timings(iterations)})


def analyse(system: Measured, scenario: str) -> Analysis:
    """Analyse a scenario; the same samples are analysed once."""
    samples = system.path / scenario / "packets.csv"
    stamp = samples.stat().st_mtime if samples.exists() else 0.0
    return _analyse(system.path, scenario, stamp)
