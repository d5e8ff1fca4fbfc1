# SPDX-License-Identifier: GPL-2.0-or-later
"""The rivals of ClockFix."""

import re
from pathlib import Path

import pytest

from experiments.clock_precision import experiment as clock_precision
from experiments.common.fabricated import csv, write_scenarios
from experiments.common.fabricated_bench import bench
from experiments.oversleep import experiment as oversleep
from lab.paths import REPO

SYSTEMS = ("host-stock",)
fabricated = bench


def test_experiments_ask_for_rivals_that_the_bench_has() -> None:
    source = (REPO / "clockfix" / "bench" / "rivals.c").read_text()
    known = set(re.findall(r'^\t\{ "([^"]+)"', source, re.MULTILINE))
    assert set(oversleep.RIVALS) | set(clock_precision.RIVALS) <= known


@pytest.mark.parametrize(("p1", "p50", "p99", "verdicts"), [
    (100, 500, 200, [True, True]), (100, 501, 200, [False, True]), (99, 500, 200, [True, False])])
def test_a_later_or_less_even_job_is_missed(
    tmp_path: Path, p1: int, p50: int, p99: int, verdicts: list[bool]
) -> None:
    store = write_scenarios(tmp_path, "oversleep", "host-stock", {"100us": {
        "rivals.csv": csv("rival,p1_ns,p50_ns,p99_ns", [
            ("clockfix", p1, p50, p99), ("nanosleep", 9_000, 10_000, 10_000)])}})
    assert [c.met for c in oversleep.EXPERIMENT.claims(store)] == verdicts
