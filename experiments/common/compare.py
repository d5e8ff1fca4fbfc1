# SPDX-License-Identifier: GPL-2.0-or-later
"""Which results can be compared with which."""

from experiments.measure.results import Measured, Store
from lab.kernels.platforms import Mode

Modes = dict[str, Measured]
"""Results of one platform by mode."""


def platforms(store: Store) -> dict[str, Modes]:
    """The results of each platform; the module is a shielded mode."""
    found: dict[str, Modes] = {}
    for measured in store:
        system = measured.system
        mode = Mode.SHIELDED if system.mode is Mode.MODULE else system.mode
        found.setdefault(system.place, {})[mode] = measured
    return found


def both(scenario: str, *systems: Measured) -> bool:
    """Whether all of ``systems`` have samples of ``scenario``."""
    return all(s.has(scenario) for s in systems)


def timed(system: Measured) -> list[str]:
    """Scenarios whose jobs do a fixed amount of work, next to timers of tasks."""
    others = ("endless-", "matrix-", "most-", "quota-")
    return [s for s in system.scenarios if not s.startswith(others)]


def idle(scenario: str) -> str:
    """The same without load: jobs of some scenarios are longer, or fall on ticks."""
    kind = scenario.partition("-")[0]
    return f"{kind}-none" if kind in ("long", "paper", "phase") else "none"
