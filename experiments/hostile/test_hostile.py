# SPDX-License-Identifier: GPL-2.0-or-later
"""What hostile timers cost."""

from pathlib import Path

import pytest

from experiments.common import fabricated as made_up
from experiments.common.fabricated import SHIELDED, STOCK, column, csv, write_scenarios
from experiments.hostile import experiment as hostile
from experiments.response_loop.fabricated import response

SYSTEMS = (*made_up.SYSTEMS, "host-stock")
fabricated = response


def products(*numbers: int) -> dict[str, str]:
    return {"jobs.csv": column("products", numbers)}


@pytest.mark.parametrize(("stock", "shielded", "met"), [
    (290, 300, True), (290, 299, False), (300, 300, None)])
def test_throughput_lost_to_hostile_timers(
    tmp_path: Path, stock: int, shielded: int, met: bool | None
) -> None:
    for system, lossy in ((STOCK, stock), (SHIELDED, shielded)):
        store = write_scenarios(tmp_path, "hostile", system, {
            "matrix-none": products(300, 300), "matrix-timerfds-1000": products(300, lossy)})
    claim, *_ = hostile.EXPERIMENT.claims(store)
    assert claim.met is met
    assert abs(hostile.losses(store[STOCK])["matrix-timerfds-1000"] - (300 - stock) / 600) < 1e-12


@pytest.mark.parametrize(("stock", "shielded", "interruptions", "met"), [
    (400, 300, 0, True), (400, 300, 1, False), (400, 302, 0, False), (301, 300, 0, None)])
def test_a_job_that_stock_keeps_whole_proves_nothing(
    tmp_path: Path, stock: int, shielded: int, interruptions: int, met: bool | None
) -> None:
    for system, response_ns in ((STOCK, stock), (SHIELDED, shielded)):
        store = write_scenarios(tmp_path, "hostile", system, {
            name: {"jobs.csv": csv("response_ns,interruptions", [(ns, n)] * 3)}
            for name, ns, n in (("none", 300, 0), ("timerfds-1000", response_ns, interruptions))})
    claim, *_ = hostile.EXPERIMENT.claims(store)
    assert claim.met is met


def test_a_loss_is_shown_next_to_that_of_the_same_scenario(tmp_path: Path) -> None:
    for system, matrix, endless in ((STOCK, 200, 300), (SHIELDED, 300, 270)):
        store = write_scenarios(tmp_path, "hostile", system, {
            "matrix-none": products(300), "matrix-timerfds-1000": products(matrix),
            "endless-none": products(300), "endless-timerfds-1000": products(endless)})
    claim, *_ = hostile.EXPERIMENT.claims(store)
    assert claim.found == ("endless-timerfds-1000: 10.000%, stock 0.000%; "
                           "matrix-timerfds-1000: 0.000%, stock 33.333%")
    assert claim.met is False
