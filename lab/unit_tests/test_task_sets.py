# SPDX-License-Identifier: GPL-2.0-or-later
"""Comparing random task sets of two kernels."""

from pathlib import Path

import pytest

from experiments.response import task_sets
from lab.errors import LabError
from lab.measure.results import Store, write_meta
from lab.unit_tests.described import described

HEAD = "set,task,level,api,jobs,lateness_ns,unexplained_ns\n"


def _system(root: Path, name: str, rows: list[str]) -> None:
    directory = root / task_sets.TaskSets.name / name
    scenario = directory / "sets-100"
    scenario.mkdir(parents=True)
    (scenario / "tasks.csv").write_text(HEAD + "".join(f"{row}\n" for row in rows))
    (scenario / "summary.csv").write_text("name,value\nsets,2\n")
    write_meta(directory, {"system": described(name), "target": "guest", "kernel": "Linux",
                           "time": "counted", "scenarios": ["sets-100"],
                           "titles": {"sets-100": "100 sets"}})


def _store(root: Path, shielded: list[str]) -> Store:
    _system(root, "x86_64-preempt-stock", [
        "0,0,101,clock_nanosleep,5,4000,4000", "0,1,52,futex,5,900000,3000",
        "1,0,101,clock_nanosleep,5,9000,9000", "1,1,2,poll,5,700000,8000",
    ])
    _system(root, "x86_64-preempt-shielded", shielded)
    return Store(root, task_sets.TaskSets.name)


def test_growth_up_to_the_longest_section_is_allowed(tmp_path: Path) -> None:
    store = _store(tmp_path, [
        "0,0,101,clock_nanosleep,5,4000,4000", "0,1,52,futex,5,990000,12000",
        "1,0,101,clock_nanosleep,5,3000,3000", "1,1,2,poll,5,100000,2000",
    ])
    [goal] = task_sets.EXPERIMENT.goals(store)
    assert goal.met
    assert "9,000 ns" in goal.claim
    assert "+9,000 ns" in goal.found


def test_growth_beyond_it_is_told_by_task(tmp_path: Path) -> None:
    store = _store(tmp_path, [
        "0,0,101,clock_nanosleep,5,4000,4000", "0,1,52,futex,5,990000,12001",
        "1,0,101,clock_nanosleep,5,3000,3000", "1,1,2,poll,5,100000,2000",
    ])
    [goal] = task_sets.EXPERIMENT.goals(store)
    assert not goal.met
    found = task_sets.growth("sets-100", store["x86_64-preempt-stock"],
                             store["x86_64-preempt-shielded"])
    assert found.beyond == ((0, 1, 52, "futex", 3000, 12001),)
    assert "futex" in task_sets.EXPERIMENT.section(store).markup(first=True)


def test_different_sets_are_not_compared(tmp_path: Path) -> None:
    store = _store(tmp_path, [
        "0,0,101,clock_nanosleep,5,4000,4000", "0,1,52,poll,5,990000,12001",
        "1,0,101,clock_nanosleep,5,3000,3000", "1,1,2,poll,5,100000,2000",
    ])
    with pytest.raises(LabError, match="different task sets"):
        task_sets.EXPERIMENT.goals(store)
