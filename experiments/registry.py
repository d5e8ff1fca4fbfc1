# SPDX-License-Identifier: GPL-2.0-or-later
"""All experiments, in the order in which a report shows them."""

from experiments.aoi import age_of_information
from experiments.base import Experiment
from experiments.blame import blame
from experiments.clockfix import clock_precision, learning_cost, oversleep
from experiments.cost import caches, code_size, context_switch, timer_overhead
from experiments.rank import rank_cost
from experiments.response import bounds, hostile, low_priority, response_time, task_sets
from experiments.shielded_cpu import shielded_cpu
from experiments.together import together
from lab.errors import LabError

EXPERIMENTS: tuple[Experiment, ...] = (
    together.EXPERIMENT,
    timer_overhead.EXPERIMENT,
    context_switch.EXPERIMENT,
    caches.EXPERIMENT,
    rank_cost.EXPERIMENT,
    code_size.EXPERIMENT,
    response_time.EXPERIMENT,
    hostile.EXPERIMENT,
    low_priority.EXPERIMENT,
    task_sets.EXPERIMENT,
    bounds.EXPERIMENT,
    oversleep.EXPERIMENT,
    clock_precision.EXPERIMENT,
    learning_cost.EXPERIMENT,
    age_of_information.EXPERIMENT,
    shielded_cpu.EXPERIMENT,
    blame.EXPERIMENT,
)


def find(name: str) -> Experiment:
    """The experiment called ``name``."""
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    names = ", ".join(e.name for e in EXPERIMENTS)
    raise LabError(f"there is no experiment '{name}'; there are: {names}")
