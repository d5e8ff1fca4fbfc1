# SPDX-License-Identifier: GPL-2.0-or-later
"""The most that timers of tasks that it outranks can take from a job: docs/bound.md derives it."""

import math
from typing import NamedTuple

from experiments.common import tables
from experiments.common.claims import SHIELDED, Claim, Found
from experiments.measure.results import Measured

TICK_NS = 4_000_000
"""CONFIG_HZ is 250 in the lab's kernels."""


class Constants(NamedTuple):
    """Of a kernel, ns."""

    held_tick: int
    """What a tick takes more in which timers are held: its fixed part and 8 callbacks."""
    switch: int
    """The switch to the job: all of it, not only what the shield adds."""


COUNTED = {
    ("6.12", "x86_64", "preempt"): Constants(8602, 1832),
    ("6.12", "arm64", "preempt"): Constants(9067, 1671),
    ("7.3", "x86_64", "preempt"): Constants(8681, 1639),
}
"""The worst paths of a Linux, architecture and flavour; elsewhere nothing is judged."""


def counted(system: Measured) -> Constants | None:
    """For this system."""
    platform = system.system.platform
    if platform is None or platform.debian:
        return None
    return COUNTED.get((platform.linux, platform.arch, platform.flavour))


def most(run_ns: float, of: Constants) -> float:
    """For a job that runs so long undisturbed, ns."""
    return math.ceil(run_ns / TICK_NS) * of.held_tick + of.switch


def losses(system: Measured) -> dict[str, tuple[float, float]]:
    """Scenario -> what its worst job lost, and the most that it may lose, ns."""
    constants = counted(system)
    if not constants:
        return {}
    found = {s: float(system.table(s, "jobs")["response_ns"].max()) for s in tables.timed(system)}
    result = {}
    for scenario, worst in found.items():
        idle = found.get(tables.idle(scenario))
        if idle and not scenario.endswith("none"):
            result[scenario] = (worst - idle, most(idle, constants))
    return result


def _worst(shielded: Measured) -> Found | None:
    found = losses(shielded)
    if not found or shielded.system.cpus > 1:
        return None
    name = max(found, key=lambda s: found[s][0] / found[s][1])
    lost, bound = found[name]
    return Found(f"worst {lost:+,.0f} of {bound:,.0f} ns, in {name}", lost / bound)


CLAIM = Claim("No job loses more to timers that it outranks than the bound", _worst, most=1,
              of=SHIELDED, shield="1 and 2")
