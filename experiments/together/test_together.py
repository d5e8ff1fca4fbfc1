# SPDX-License-Identifier: GPL-2.0-or-later
"""A job's end next to another CPU is what was executed, not what the clock shows."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from experiments.together import section
from lab.errors import LabError

MARKS = 170


def system(**scenarios: list[tuple[int, int, int]]) -> Any:
    """Of two CPUs: each job's start and end by the clock, and what the kernel executed."""
    def table(scenario: str, name: str) -> dict[str, Any]:
        start, end, executed = np.array(scenarios[scenario]).T
        if name == "jobs":
            return {"due_ns": start, "latency_ns": start, "response_ns": end}
        return {"cpu": np.array([1, *[0] * len(executed)]),
                "instructions": np.array([99_999, *executed])}

    return SimpleNamespace(name="x", system=SimpleNamespace(cpus=2), table=table,
                           scenarios=list(scenarios), has=scenarios.__contains__)


def test_turns_of_the_other_cpu_are_not_lateness() -> None:
    modes = {"stock": system(nanosleep=[(20_000, 330_000, MARKS + 9_000)]),
             "shielded": system(clockfix=[(500, 303_000, MARKS), (600, 300_000, MARKS)])}
    for layer, expected in ((section.PAIR_LAYERS[0], [[20.0], [29.0]]),
                            (section.PAIR_LAYERS[2], [[0.5, 0.6], [0.5, 0.6]])):
        found = section.lateness(modes, layer)
        assert found is not None
        assert [s.tolist() for s in found] == expected


def test_a_job_that_was_not_counted_is_an_error() -> None:
    of = system(nanosleep=[(1, 2, MARKS)])
    whole = of.table
    of.table = lambda scenario, name: {k: v[:1] for k, v in whole(scenario, name).items()}
    with pytest.raises(LabError, match="0 of 1 jobs"):
        section.lateness({"stock": of}, section.PAIR_LAYERS[0])
