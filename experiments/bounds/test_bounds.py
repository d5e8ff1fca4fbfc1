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
    assert EXPERIMENT.claims(store)[0].met is met


@pytest.mark.parametrize(("lost", "verdicts"), [
    (30_000, [True, True]), (54_229, [True, True]), (54_230, [False, True]),
    (27_114, [True, False])])
def test_the_bound_can_be_exceeded_and_too_wide(
    tmp_path: Path, lost: int, verdicts: list[bool]
) -> None:
    store = write_scenarios(tmp_path, "bounds", "x86_64-preempt-shielded", {
        name: {"jobs.csv": column("response_ns", [19_870_000 + more] * 2)}
        for name, more in (("long-none", 0), ("long-sleepers-1000", lost))})
    assert [c.met for c in EXPERIMENT.claims(store)] == verdicts
