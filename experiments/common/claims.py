# SPDX-License-Identifier: GPL-2.0-or-later
"""Claims: a text, what a paper has, a metric of samples, and its bound.

An experiment has a table of them. Nothing else says what must be shown.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from experiments.common.compare import platforms
from experiments.measure.results import Measured, Store

BOTH = ("stock", "shielded")
SHIELDED = ("shielded",)
EACH = ("each",)
"""Every system alone, in whatever mode."""


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


class Found(NamedTuple):
    """What a metric found."""

    words: str
    value: float | None = None
    """What the bound is for; infinite if something else is amiss; ``None``: not to be judged."""


@dataclass(frozen=True)
class Claim:
    """What must be shown, or was found, on every platform that was measured in the modes ``of``."""

    text: str
    """With a place for the bound."""
    metric: Callable[..., Found | None]
    """Of the systems in the order of ``of``; ``None`` if they lack the samples."""
    most: float | None = None
    least: float | None = None
    """The bound; without any, what is found is noted."""
    paper: str = ""
    """The figure of the paper and what it has there; empty: no paper has it."""
    rows: str = ""
    """Those of papers.toml that it judges."""
    of: tuple[str, ...] = BOTH
    shield: str = ""
    """kernel.timershield of the loads that it judges, 1, 2 or both; without load it is 1."""

    @property
    def title(self) -> str:
        """The text with its bound."""
        return self.text.format(self.least if self.most is None else self.most)

    def met(self, value: float | None) -> bool | None:
        """Whether ``value`` keeps the bound."""
        if value is None:
            return None
        if self.most is not None:
            return value <= self.most
        return None if self.least is None else value >= self.least

    def badness(self, value: float | None) -> float:
        """The greater, the nearer to the bound or the farther beyond it."""
        if value is None:
            return -math.inf
        return value if self.least is None else -value

    def systems(self, store: Store) -> Iterator[tuple[str, list[Measured]]]:
        """Each place, and what the metric is given of it."""
        if self.of == EACH:
            yield from ((s.system.place, [s]) for s in store)
            return
        for place, modes in platforms(store).items():
            if all(m in modes for m in self.of):
                yield place, [modes[m] for m in self.of]

    def judged(self, store: Store) -> list[Judged]:
        """By the samples of each place."""
        return [Judged(self.title, place, found.words, self.met(found.value), self.paper,
                       None if found.value in (None, math.inf) else found.value)
                for place, systems in self.systems(store) if (found := self.metric(*systems))]


def worst(values: dict[str, float], words: str) -> Found | None:
    """The largest of ``values``, by scenario."""
    if not values:
        return None
    name = max(values, key=lambda s: values[s])
    return Found(f"{words.format(values[name])}, in {name}", values[name])
