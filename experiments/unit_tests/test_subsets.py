# SPDX-License-Identifier: GPL-2.0-or-later
"""Every experiment copes with results of some platforms, modes or scenarios only."""

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiments import registry
from experiments.common import running, tables
from experiments.common.experiment import Experiment
from experiments.context_switch import experiment as context_switch
from experiments.hostile import experiment as hostile
from experiments.measure.results import Store
from experiments.report.page import page

DRAWN = 25
Subset = dict[str, list[str]]
each = pytest.mark.parametrize("experiment", registry.EXPERIMENTS, ids=lambda e: e.name)


def part(kept: Path, root: Path, experiment: str, subset: Subset) -> Store:
    """A store that has ``subset`` of the sample."""
    for system, scenarios in subset.items():
        source, directory = kept / experiment / system, root / experiment / system
        directory.mkdir(parents=True)
        for scenario in scenarios:
            (directory / scenario).symlink_to(source / scenario)
        meta = json.loads((source / "meta.json").read_text())
        (directory / "meta.json").write_text(json.dumps({**meta, "scenarios": scenarios}))
    return Store(root, experiment)


def subsets(kept: Path, experiment: Experiment) -> list[Subset]:
    """Everything, each scenario alone on each system and on all, and some by chance."""
    whole = {s.name: s.scenarios for s in Store(kept, experiment.name)}
    found: list[Subset] = [whole]
    for scenario in {s for scenarios in whole.values() for s in scenarios}:
        alone = {s: [scenario] for s, there in whole.items() if scenario in there}
        found += [alone, *({s: [scenario]} for s in alone)]
    chance = random.Random(1)
    for _ in range(50 if whole else 0):
        systems = chance.sample(list(whole), chance.randint(1, len(whole)))
        found.append({s: chance.sample(whole[s], min(len(whole[s]), chance.randint(1, 4)))
                      for s in systems})
    return [s for i, s in enumerate(found) if s not in found[:i]]


@each
@pytest.mark.usefixtures("unpainted")
def test_a_part_of_the_results_is_judged_and_drawn(
    kept: Path, tmp_path: Path, experiment: Experiment
) -> None:
    for i, subset in enumerate(subsets(kept, experiment)):
        store = part(kept, tmp_path / str(i), experiment.name, subset)
        assert all(judged.found for judged in experiment.judged(store))
        if i < DRAWN:
            shown = page("t", [], [experiment.section(store)])
            assert f'id="{experiment.name}"' in shown
            assert all(store[s].system.place.partition("-2cpus")[0] in shown for s in subset)


def test_jobs_that_end_at_a_time_are_not_held_against_those_that_do_some_work() -> None:
    system: Any = SimpleNamespace(scenarios=["none", *(f"{w}-none" for w in hostile.WINDOWS_MS)])
    assert tables.timed(system) == ["none"]


def test_no_scenario_is_not_a_perfect_one(kept: Path, tmp_path: Path) -> None:
    experiment = registry.find("response-time")
    store = part(kept, tmp_path, experiment.name, {"x86_64-preempt-shielded": ["spare-none"]})
    assert not [j for j in experiment.judged(store) if j.text.startswith("No job is")]


def test_scenarios_that_run_another_program_alone_have_the_experiments_own_too() -> None:
    jobs = [s for s in context_switch.everything(int, 1, "x86_64") if s.program]
    assert running._programs("context_switch", jobs) == ["context_switch", "control_loop"]
