# SPDX-License-Identifier: GPL-2.0-or-later
"""A job longer than a tick."""

from pathlib import Path

import pytest

from experiments.bounds.experiment import EXPERIMENT
from experiments.common.fabricated import SHIELDED, STOCK, column, write_scenarios
from experiments.response_loop.fabricated import response

fabricated = response


@pytest.mark.parametrize(("loaded", "met"), [(20_060, True), (20_061, False)])
def test_a_longer_job_is_missed(tmp_path: Path, loaded: int, met: bool) -> None:
    for system, ns in ((STOCK, 20_100), (SHIELDED, loaded)):
        store = write_scenarios(tmp_path, "bounds", system, {
            name: {"jobs.csv": column("response_ns", [value] * 3)}
            for name, value in (("long-none", 20_000), ("long-timerfds-1000", ns))})
    (claim,) = EXPERIMENT.claims(store)
    assert claim.met is met
