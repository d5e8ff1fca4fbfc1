# SPDX-License-Identifier: GPL-2.0-or-later
"""What hostile timers cost."""

from pathlib import Path

from experiments.common import fabricated as made_up
from experiments.common.fabricated import SHIELDED, STOCK, column, write_scenarios
from experiments.hostile import experiment as hostile
from experiments.response_loop.fabricated import response

SYSTEMS = (*made_up.SYSTEMS, "host-stock")
fabricated = response


def test_throughput_lost_to_hostile_timers(tmp_path: Path) -> None:
    jobs = column("products", [300, 300])
    lossy = column("products", [300, 299])
    write_scenarios(tmp_path, "hostile", STOCK, {"matrix-none": {"jobs.csv": jobs},
                                       "matrix-timerfds-1000": {"jobs.csv": lossy}})
    store = write_scenarios(tmp_path, "hostile", SHIELDED, {"matrix-none": {"jobs.csv": jobs},
                                                  "matrix-timerfds-1000": {"jobs.csv": lossy}})
    (goal,) = hostile.EXPERIMENT.goals(store)
    assert not goal.met
    assert abs(hostile.losses(store[STOCK])["timerfds-1000"] - 1 / 600) < 1e-12
