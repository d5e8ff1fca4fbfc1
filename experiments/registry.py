# SPDX-License-Identifier: GPL-2.0-or-later
"""All experiments, in the order in which a report shows them: a line and a folder for each."""

from importlib import import_module

from experiments.common.experiment import Experiment
from lab.errors import LabError

NAMES = (
    "together",
    "timer-overhead",
    "context-switch",
    "code-size",
    "price",
    "response-time",
    "hostile",
    "low-priority",
    "bounds",
    "oversleep",
    "age-of-information",
    "isolated-cpu",
)


EXPERIMENTS: tuple[Experiment, ...] = tuple(
    import_module(f"experiments.{n.replace('-', '_')}.experiment").EXPERIMENT for n in NAMES)


def find(name: str) -> Experiment:
    """The experiment called ``name``."""
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    names = ", ".join(e.name for e in EXPERIMENTS)
    raise LabError(f"there is no experiment '{name}'; there are: {names}")
