# SPDX-License-Identifier: GPL-2.0-or-later
"""What a report shows of an experiment: samples by row, and which figures of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from experiments.common.stats import Samples
from experiments.measure.results import Measured

Rows = Mapping[str, Samples]
"""What tells a row of a scenario from others -> its samples."""
SPREAD = (50, 95, 99, 99.9, 100)
"""Percentiles."""


@dataclass(frozen=True)
class Shown:
    """A table of all systems and scenarios; of percentiles also a picture."""

    title: str
    rows: Callable[[Measured, str], Rows]
    how: tuple[float, ...] | str = SPREAD
    """Percentiles, or ``mean`` or ``sum``."""
    paper: Mapping[str, float] = field(default_factory=dict)
    """Where the paper's values lie, and the words about them."""
    drawn: tuple[str, ...] = ()
    """The scenarios in the picture; empty: the first ones."""


def column(file: str, value: str, *keys: str, count: str = "") -> Callable[[Measured, str], Rows]:
    """A column of a scenario's file, for each combination of ``keys``.

    ``count`` is the column that says how often a line's value was found.
    """
    def rows(system: Measured, scenario: str) -> Rows:
        if not (system.path / scenario / f"{file}.csv").exists():
            return {}
        table = system.table(scenario, file)
        values = np.repeat(table[value], table[count]) if count else table[value]
        names = [" ".join(map(str, key)) for key in zip(*(table[k] for k in keys), strict=True)]
        labels = np.array(names or [""] * len(values))
        if count:
            labels = np.repeat(labels, table[count])
        return {str(name): values[labels == name] for name in dict.fromkeys(labels.tolist())}
    return rows


def jobs(*drawn: str, paper: Mapping[str, float] | None = None) -> tuple[Shown, ...]:
    """Of a control loop and the tasks next to it."""
    return (
        Shown("response of the job, ns", column("jobs", "response_ns"), paper=paper or {},
              drawn=drawn),
        Shown("interruptions of a job", column("jobs", "interruptions"), "mean"),
        Shown("response of the other tasks, ns", column("releases", "response_ns"), (50, 99, 100),
              drawn=drawn),
    )
