# SPDX-License-Identifier: GPL-2.0-or-later
"""The most that timers of tasks that it outranks can take from a job: docs/bound.md derives it."""

import math

from experiments.common import compare
from experiments.common.claims import SHIELDED, Claim, Found
from experiments.measure.results import Measured

TICK_NS = 4_000_000
"""CONFIG_HZ is 250 in the lab's kernels."""
SERVED_NS = 20_000
"""So long an interrupt serves timers of tasks."""
OVER_NS = 5_000
"""What it takes besides: its own part, and the callback with which it ends."""
TWICE = 2
"""A tick."""


def most(run_ns: float) -> float:
    """For a job that runs so long undisturbed: an interrupt that it finds, and those in ticks."""
    return (1 + TWICE * math.ceil(run_ns / TICK_NS)) * (SERVED_NS + OVER_NS)


def _worst(shielded: Measured) -> Found | None:
    """Of all scenarios; what a job loses counts from its release on, so a late start does."""
    found = {s: float(shielded.table(s, "jobs")["response_ns"].max())
             for s in compare.timed(shielded)}
    lost = {s: (worst - found[idle], most(found[idle])) for s, worst in found.items()
            if (idle := compare.idle(s)) in found and not s.endswith("none")}
    platform = shielded.system.platform
    if not lost or not platform or platform.debian:
        return None
    name = max(lost, key=lambda s: lost[s][0] / lost[s][1])
    took, may = lost[name]
    return Found(f"{took:+,.0f} of {may:,.0f} ns ({name})", took / may)


CLAIM = Claim("No job loses more to timers that it outranks than the bound, a late start included",
              _worst, most=1, of=SHIELDED, shield="1 and 2")
