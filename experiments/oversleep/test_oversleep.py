# SPDX-License-Identifier: GPL-2.0-or-later
"""The rivals of ClockFix."""

import re
from pathlib import Path

import pytest

from experiments.common.fabricated import Files, csv, summary, write_scenarios
from experiments.oversleep import experiment as oversleep
from lab.paths import REPO

SYSTEMS = ("host-stock",)


def fabricated(scenario: str) -> Files:
    """What clockfix-bench leaves."""
    if scenario == oversleep.COSTS:
        return {"costs.csv": csv("what,took_ns,count", (
                    (what, 20 + i, 100) for what in oversleep.LEARNING for i in range(5))),
                "summary.csv": summary(samples=500)}
    percents = "p1_ns,p50_ns,p95_ns,p99_ns,p999_ns,max_ns"
    return {
        "rivals.csv": csv(f"rival,jobs,{percents},share_over_1us,cpu_share", (
            (rival, 1000, 20 + i, 30 + i, 40 + i, 50 + i, 60 + i, 90 + i, 0.01, 0.5)
            for i, rival in enumerate(oversleep.RIVALS))),
        "quantiles.csv": csv("rival,share,late_ns", (
            (rival, share / 10, 20 + share) for rival in oversleep.RIVALS
            for share in range(11))),
        "summary.csv": summary(interval_ns=100_000, fifo_priority=0, stolen_ms=0),
    }


def test_experiments_ask_for_rivals_that_the_bench_has() -> None:
    source = (REPO / "clockfix" / "bench" / "rivals.c").read_text()
    known = set(re.findall(r'^\t\{ "([^"]+)"', source, re.MULTILINE))
    assert set(oversleep.RIVALS) <= known


GOOD = {
    "poll": (30, 40, 60, 0.0), "clock_nanosleep": (900, 1_000, 2_000, 0.9),
    "nanosleep": (9_000, 10_000, 10_000, 0.9), "filter-none": (900, 1_150, 2_000, 0.9),
    "filter-average": (40, 60, 9_000, 0.2), "filter-max": (40, 60, 140, 0.1),
    "clockfix": (40, 60, 140, 0.1),
}


@pytest.mark.parametrize(("rival", "spoiled", "which"), [
    ("", (), None), ("clockfix", (40, 501, 140, 0.1), 0), ("clockfix", (40, 60, 141, 0.1), 1),
    ("filter-max", (40, 60, 141, 0.1), 2), ("filter-none", (900, 1_151, 2_000, 0.9), 3),
    ("clockfix", (40, 81, 140, 0.1), 4), ("filter-max", (40, 60, 140, 0.2), 5)])
def test_each_claim_can_be_missed(
    tmp_path: Path, rival: str, spoiled: tuple[float, ...], which: int | None
) -> None:
    rivals = {**GOOD, rival: spoiled} if rival else GOOD
    store = write_scenarios(tmp_path, "oversleep", "host-stock", {oversleep.JUDGED: {
        "rivals.csv": csv("rival,p1_ns,p50_ns,p99_ns,share_over_1us",
                          ((name, *values) for name, values in rivals.items()))}})
    missed = [i for i, c in enumerate(oversleep.EXPERIMENT.claims(store)) if not c.met]
    assert missed == ([0, 4] if which == 0 else [] if which is None else [which])


@pytest.mark.parametrize(("slowest", "met"), [(200, True), (201, False)])
def test_a_slow_filter_is_missed(tmp_path: Path, slowest: int, met: bool) -> None:
    costs = csv("what,took_ns,count", (
        (what, slowest if what == "default" else 20, 9) for what in oversleep.LEARNING))
    store = write_scenarios(tmp_path, "oversleep", "host-stock", {
        oversleep.COSTS: {"costs.csv": costs}})
    (claim,) = oversleep.EXPERIMENT.claims(store)
    assert claim.met is met
