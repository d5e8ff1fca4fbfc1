# SPDX-License-Identifier: GPL-2.0-or-later
"""What packets cost a job."""

from pathlib import Path

import pytest

from experiments.common.fabricated import csv, write_scenarios
from experiments.network_priority.experiment import EXPERIMENT
from experiments.response_loop.fabricated import response

SYSTEMS = ("debian12-6.12-stock",)
fabricated = response


@pytest.mark.parametrize(("below", "met"), [(4, True), (5, False)])
def test_threads_that_do_not_help_are_missed(tmp_path: Path, below: int, met: bool) -> None:
    store = write_scenarios(tmp_path, EXPERIMENT.name, SYSTEMS[0], {
        name: {"jobs.csv": csv("response_ns,stolen_ns", [(300, ns)])}
        for name, ns in (("none", 0), ("softirq", 20), ("below", below))})
    (claim,) = EXPERIMENT.claims(store)
    assert claim.met is met
