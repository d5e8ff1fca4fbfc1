# SPDX-License-Identifier: GPL-2.0-or-later
"""What experiments show: claims with their verdicts."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Judged:
    """A claim, judged by the samples of one platform."""

    text: str
    """What is claimed, or must be shown; with its bound, if it has one."""
    where: str
    """Platform, link or machine."""
    found: str
    """What was measured, with units."""
    met: bool | None = None
    """``None``: nothing that it must be, or nothing by which it could be judged."""
    paper: str = ""
    """The figure of the paper and what it has there; empty: no paper has it."""
    value: float | None = None
    """What was held against the bound, if it is a number."""

    @property
    def verdict(self) -> str:
        """``met``, ``missed`` or ``noted``."""
        return {True: "met", False: "missed", None: "noted"}[self.met]


@dataclass(frozen=True)
class Row:
    """A claim on all platforms, as a table shows it."""

    text: str
    paper: str
    found: str
    """A line for each platform."""
    verdict: str
    where: str
    """Where it is missed, if it is met elsewhere."""


def rows(claims: Iterable[Judged]) -> list[Row]:
    """Claims of the same text together, in the order in which they come."""
    groups: dict[tuple[str, str], list[Judged]] = {}
    for claim in claims:
        groups.setdefault((claim.text, claim.paper), []).append(claim)
    found = []
    for (text, paper), group in groups.items():
        missed = [c.where for c in group if c.met is False]
        judged = [c for c in group if c.met is not None]
        verdict = "missed" if missed else "met" if judged else "noted"
        where = ", ".join(missed) if len(missed) < len(judged) else ""
        found.append(Row(text, paper, "\n".join(f"{c.where}: {c.found}" for c in group), verdict,
                         where))
    return found
