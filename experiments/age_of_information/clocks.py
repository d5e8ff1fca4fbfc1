# SPDX-License-Identifier: GPL-2.0-or-later
"""Two nodes' clocks made one after the fact (Reif, Schröder-Preikschat: section VI-A, VI-B).

What a packet seems to take is what it takes, plus how much the receiver's clock is ahead of the
sender's. That grows with time (drift), and is something to begin with (offset).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lab.errors import LabError

Numbers = npt.NDArray[Any]


@dataclass(frozen=True)
class Lines:
    """Parallel lines, one for each group of points."""

    slope: float
    intercepts: tuple[float, ...]


def fit_parallel_lines(groups: Sequence[tuple[Numbers, Numbers]]) -> Lines:
    """The parallel lines through groups of points (x, y) with the least sum of squares.

    Where every group is moved so that its mean lies at the origin, the best slope is that of one
    line through all of them.
    """
    groups = [(np.asarray(x, float), np.asarray(y, float)) for x, y in groups if len(x)]
    products = sum(float(((x - x.mean()) * (y - y.mean())).sum()) for x, y in groups)
    squares = sum(float(((x - x.mean()) ** 2).sum()) for x, _ in groups)
    if not squares:
        raise LabError("lines cannot be fitted: there are fewer than two points in time")
    slope = products / squares
    return Lines(slope, tuple(float(y.mean() - slope * x.mean()) for x, y in groups))


def inside_fences(values: Numbers) -> npt.NDArray[np.bool_]:
    """Which values are no outliers: within 1.5 interquartile ranges of the quartiles."""
    low, high = np.percentile(values, [25, 75])
    margin = 1.5 * (high - low)
    return np.asarray((values >= low - margin) & (values <= high + margin))


def fit_drift(groups: Sequence[tuple[Numbers, Numbers]]) -> Lines:
    """Parallel lines through (date, seeming delivery time); a second fit leaves outliers out."""
    groups = [g for g in groups if len(g[0])]
    first = fit_parallel_lines(groups)
    kept = []
    for (x, y), intercept in zip(groups, first.intercepts, strict=True):
        keep = inside_fences(y - first.slope * x - intercept)
        kept.append((x[keep], y[keep]))
    return fit_parallel_lines(kept)


def constant_offset(forward: Numbers, reverse: Numbers) -> float:
    """How much the receiver's clock is ahead, if the fastest packet of each direction takes as
    long as the other; drift is corrected already.
    """
    return float(np.min(forward) - np.min(reverse)) / 2


@dataclass(frozen=True)
class Correction:
    """How the second node's clock differs from the first's."""

    drift: float
    """Gain in ns per ns."""
    offset: float
    """ns ahead at ``zero``."""
    zero: float
    """Date on the first node's clock."""

    def ahead(self, date: Numbers) -> Numbers:
        """How much the second clock is ahead at ``date`` of the first."""
        return self.offset + self.drift * (np.asarray(date, float) - self.zero)


def correction(
    forward: Sequence[tuple[Numbers, Numbers]], reverse: tuple[Numbers, Numbers]
) -> Correction:
    """From seeming delivery times by date on the first node's clock: a group for each way of
    timing, and the packets of the reverse iterations.
    """
    lines = fit_drift(forward)
    zero = float(min(x.min() for x, _ in forward if len(x)))
    ahead = np.concatenate([y - lines.slope * (x - zero) for x, y in forward])
    date, seeming = reverse
    if not len(date):
        raise LabError("no packet came through in the other direction: no offset can be found")
    behind = seeming + lines.slope * (date - zero)
    return Correction(lines.slope, constant_offset(ahead, behind), zero)
