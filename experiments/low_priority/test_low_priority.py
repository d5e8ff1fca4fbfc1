# SPDX-License-Identifier: GPL-2.0-or-later
"""The lowest-priority task's responses."""

from pathlib import Path

from experiments.common import fabricated as made_up
from experiments.common.fabricated import SHIELDED, STOCK, write_scenarios
from experiments.low_priority import experiment as low_priority
from experiments.response_loop.fabricated import response

SYSTEMS = (*made_up.SYSTEMS, "host-stock")
fabricated = response


def test_the_lowest_priority_task_is_the_last(tmp_path: Path) -> None:
    head = "task,due_ns,lateness_ns,response_ns\n"
    write_scenarios(tmp_path, "low-priority", STOCK,
          {"medium-1": {"releases.csv": head + "0,0,0,9\n1,0,0,100\n1,0,0,300\n"}})
    store = write_scenarios(tmp_path, "low-priority", SHIELDED,
                  {"medium-1": {"releases.csv": head + "0,0,0,99\n1,0,0,100\n1,0,0,301\n"}})
    assert low_priority.differences(store[STOCK], store[SHIELDED]) == {"medium-1": 0.5}
    for system in (STOCK, SHIELDED):
        (tmp_path / "low-priority" / system / "medium-1" / "summary.csv").write_text(
            "name,value\ntimer_interrupts,5\n")
    (claim,) = low_priority.EXPERIMENT.claims(store)
    assert claim.met is False
