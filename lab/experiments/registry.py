# SPDX-License-Identifier: GPL-2.0-or-later
"""All experiments, in the order in which a report shows them."""

from lab.errors import LabError
from lab.experiments import (
    age_of_information,
    clock_precision,
    code_size,
    context_switch,
    hostile,
    learning_cost,
    low_priority,
    oversleep,
    rank_cost,
    response_time,
    shielded_cpu,
    task_sets,
    timer_overhead,
    together,
)
from lab.experiments.base import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    together.EXPERIMENT,
    timer_overhead.EXPERIMENT,
    context_switch.EXPERIMENT,
    rank_cost.EXPERIMENT,
    code_size.EXPERIMENT,
    response_time.EXPERIMENT,
    hostile.EXPERIMENT,
    low_priority.EXPERIMENT,
    task_sets.EXPERIMENT,
    oversleep.EXPERIMENT,
    clock_precision.EXPERIMENT,
    learning_cost.EXPERIMENT,
    age_of_information.EXPERIMENT,
    shielded_cpu.EXPERIMENT,
)


def find(name: str) -> Experiment:
    """The experiment called ``name``."""
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    names = ", ".join(e.name for e in EXPERIMENTS)
    raise LabError(f"there is no experiment '{name}'; there are: {names}")
