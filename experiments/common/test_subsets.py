# SPDX-License-Identifier: GPL-2.0-or-later
"""Every experiment copes with results of some platforms, modes or scenarios only."""

import json
import random
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from experiments import registry
from experiments.common import fabricated
from experiments.common.experiment import Experiment
from experiments.report.page import page
from lab.measure.results import Store, write_meta

DRAWN = 25
Subset = dict[str, list[str]]
each = pytest.mark.parametrize("experiment", registry.EXPERIMENTS, ids=lambda e: e.name)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("everything")
    fabricated.write_all(root)
    return root


def part(everything: Path, root: Path, experiment: Experiment, subset: Subset) -> Store:
    """A store that has ``subset`` of everything."""
    for system, scenarios in subset.items():
        source = everything / experiment.name / system
        directory = root / experiment.name / system
        directory.mkdir(parents=True)
        for scenario in scenarios:
            (directory / scenario).symlink_to(source / scenario)
        meta = json.loads((source / "meta.json").read_text())
        titles = {s: meta["titles"][s] for s in scenarios}
        write_meta(directory, {**meta, "scenarios": scenarios, "titles": titles})
    return Store(root, experiment.name)


def subsets(experiment: Experiment) -> list[Subset]:
    """Everything, each scenario alone on each system and on all, and some by chance."""
    whole = {s: fabricated.scenarios(experiment, s) for s in fabricated.systems(experiment.name)}
    found: list[Subset] = [whole]
    for scenario in experiment.scenarios():
        alone = {s: [scenario] for s, there in whole.items() if scenario in there}
        found += [alone, *({s: [scenario]} for s in alone)]
    chance = random.Random(1)
    for _ in range(100):
        systems = chance.sample(list(whole), chance.randint(1, len(whole)))
        found.append({s: chance.sample(whole[s], min(len(whole[s]), chance.randint(1, 4)))
                      for s in systems})
    return found


@each
def test_claims(everything: Path, tmp_path: Path, experiment: Experiment) -> None:
    for i, subset in enumerate(subsets(experiment)):
        store = part(everything, tmp_path / str(i), experiment, subset)
        for claim in experiment.claims(store):
            assert claim.found


@each
def test_sections(
    everything: Path, tmp_path: Path, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    # painting takes most of the time; whether there is anything to paint is found before
    monkeypatch.setattr(Figure, "savefig", lambda _, file, **more: file.write("<svg></svg>"))
    chance = random.Random(2)
    some = subsets(experiment)
    for i, subset in enumerate(chance.sample(some, min(DRAWN, len(some)))):
        store = part(everything, tmp_path / str(i), experiment, subset)
        assert f'id="{experiment.name}"' in page("t", [], [experiment.section(store)])


def test_no_scenario_is_not_a_perfect_one(everything: Path, tmp_path: Path) -> None:
    experiment = registry.find("response-time")
    store = part(everything, tmp_path, experiment, {"arm64-rt-shielded": ["spare-none"]})
    assert not [c for c in experiment.claims(store) if c.text.startswith("No job is")]


@pytest.mark.parametrize("name", ["response-time", "context-switch"])
def test_what_only_one_mode_has_is_shown(everything: Path, tmp_path: Path, name: str) -> None:
    experiment = registry.find(name)
    first, *_, last = (s for s in experiment.scenarios() if not s.startswith("spare-"))
    store = part(everything, tmp_path, experiment, {
        "x86_64-preempt-stock": [first], "x86_64-preempt-shielded": [first, last]})
    assert experiment.scenarios()[last] in page("t", [], [experiment.section(store)])
