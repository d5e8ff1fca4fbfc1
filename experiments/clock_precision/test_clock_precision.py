# SPDX-License-Identifier: GPL-2.0-or-later
"""Oversleep in terms of the clock's precision."""

from pathlib import Path

import pytest

from experiments.clock_precision.experiment import EXPERIMENT, SCENARIO
from experiments.common.fabricated import csv, write_scenarios
from experiments.common.fabricated_bench import bench

SYSTEMS = ("host-stock",)
fabricated = bench


@pytest.mark.parametrize(("median", "met"), [(59, True), (60, False)])
def test_a_later_job_is_missed(tmp_path: Path, median: int, met: bool) -> None:
    store = write_scenarios(tmp_path, EXPERIMENT.name, "host-stock", {SCENARIO: {
        "costs.csv": csv("what,took_ns,count", [("clock_gettime", 20, 9)]),
        "rivals.csv": csv("rival,p50_ns", [("clockfix", median)])}})
    (claim,) = EXPERIMENT.claims(store)
    assert claim.met is met
