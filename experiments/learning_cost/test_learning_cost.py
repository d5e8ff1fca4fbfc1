# SPDX-License-Identifier: GPL-2.0-or-later
"""What learning costs."""

from pathlib import Path

import pytest

from experiments.common.fabricated import csv, write_scenarios
from experiments.common.fabricated_bench import bench
from experiments.learning_cost.experiment import EXPERIMENT, FUNCTIONS, SCENARIO

SYSTEMS = ("host-stock",)
fabricated = bench


@pytest.mark.parametrize(("slowest", "met"), [(200, True), (201, False)])
def test_a_slow_filter_is_missed(tmp_path: Path, slowest: int, met: bool) -> None:
    costs = csv("what,took_ns,count", (
        (what, slowest if what == "learn-default" else 20, 9) for what in FUNCTIONS))
    store = write_scenarios(tmp_path, EXPERIMENT.name, "host-stock", {SCENARIO: {
        "costs.csv": costs}})
    (claim,) = EXPERIMENT.claims(store)
    assert claim.met is met
