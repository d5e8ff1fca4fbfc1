# SPDX-License-Identifier: GPL-2.0-or-later
"""What an experiment shows: goals, and the rows of the table that a report begins with."""

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["met", "missed", "noted"]


@dataclass(frozen=True)
class Goal:
    """One thing that must be shown, what was found, and whether that is enough."""

    claim: str
    found: str
    met: bool


@dataclass(frozen=True)
class Claim:
    """What is claimed, what the paper measured, what we measured, and a verdict in words.

    ``paper`` and ``ours`` are text with units. ``outcome`` is ``met`` or ``missed`` if there is a
    goal, ``noted`` if there is nothing to miss.
    """

    claim: str
    paper: str
    ours: str
    verdict: str
    outcome: Outcome = "noted"


def judged(met: bool) -> Outcome:
    """``met`` or ``missed``."""
    return "met" if met else "missed"
