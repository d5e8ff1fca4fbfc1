# SPDX-License-Identifier: GPL-2.0-or-later
"""Results that look like those of a run: what a test has to make up for itself.

An experiment's own file of tests has ``fabricated(scenario)``, the files of one scenario, and
``SYSTEMS`` if it is not measured on the usual ones.
"""

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from experiments import registry
from experiments.common.experiment import Experiment
from experiments.unit_tests.described import described
from lab.measure.results import Store, write_meta

JOBS = 20
STOCK, SHIELDED = "x86_64-rt-stock", "x86_64-rt-shielded"
SYSTEMS = ("x86_64-preempt-stock", "x86_64-preempt-off", "x86_64-preempt-shielded",
           "arm64-rt-shielded")
Files = dict[str, str]


def csv(head: str, rows: Iterable[Iterable[object]]) -> str:
    """A table as text."""
    return "".join(f"{line}\n" for line in (head, *(",".join(map(str, r)) for r in rows)))


def column(name: str, values: Iterable[object]) -> str:
    """A table of one column."""
    return csv(name, ((v,) for v in values))


def summary(**values: float) -> str:
    """A summary.csv."""
    return csv("name,value", values.items())


def spans(*names: str) -> str:
    """Twenty executions of each of ``names``, those named first within those named last."""
    return csv("span,cpu,begin,instructions", (
        (name, 0, 10_000 * i - 10 * depth, 300 + 20 * depth + i)
        for i in range(1, JOBS + 1) for depth, name in enumerate(names)))


def write_scenarios(root: Path, experiment: str, system: str,
                    scenarios: dict[str, Files]) -> Store:
    """Leave the given files of some scenarios; return the experiment's store."""
    store = Store(root, experiment)
    with store.replacing(system) as directory:
        for name, files in scenarios.items():
            (directory / name).mkdir()
            for file, text in {"summary.csv": "name,value\n", **files}.items():
                (directory / name / file).write_text(text)
        write_meta(directory, {
            "system": described(system), "target": "guest", "kernel": "Linux", "time": "counted",
            "scenarios": list(scenarios), "titles": {n: n for n in scenarios},
            "commands": {n: experiment for n in scenarios}})
    return store


def _tests(experiment: str) -> Any:
    return import_module(f"{registry.package(experiment)}.test_{experiment.replace('-', '_')}")


def systems(experiment: str) -> tuple[str, ...]:
    """What the experiment can have results of."""
    found: tuple[str, ...] = getattr(_tests(experiment), "SYSTEMS", SYSTEMS)
    return found


def scenarios(experiment: Experiment, system: str) -> list[str]:
    """What it can have measured there."""
    queue = [s for s in experiment.scenarios() if s == "queue"]
    return queue if system == "host-queue" else [s for s in experiment.scenarios()
                                                 if s not in queue]


def write(root: Path, experiment: Experiment, system: str, chosen: list[str]) -> None:
    """Leave the results of some scenarios of a system."""
    make = _tests(experiment.name).fabricated
    write_scenarios(root, experiment.name, system, {s: make(s) for s in chosen})
    directory = root / experiment.name / system
    meta = Store(root, experiment.name)[system].meta
    titles = experiment.scenarios()
    write_meta(directory, {**meta, "titles": {s: titles[s] for s in chosen}})


def write_all(root: Path) -> None:
    """Leave everything."""
    for experiment in registry.EXPERIMENTS:
        for system in systems(experiment.name):
            write(root, experiment, system, scenarios(experiment, system))
