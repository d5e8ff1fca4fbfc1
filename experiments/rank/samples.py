# SPDX-License-Identifier: GPL-2.0-or-later
"""The rank-cost experiment's samples: what was executed between the guest program's marks."""

from dataclasses import dataclass

import numpy as np

from lab.measure import results, spans
from lab.measure.results import Measured
from lab.report.stats import Samples, middle_mean

BUSY = 0
"""The CPU that does everything."""


@dataclass(frozen=True)
class Measure:
    """Which spans are meant."""

    word: str
    span: str
    mark: str = ""
    """Only those within the span of this name."""
    which: int | None = None
    """Of several in one mark: 0 the first, -1 the last; ``None``: all."""


RAISED = Measure("raised", "policy", "rise")
LOWERED = Measure("lowered", "policy", "fall")
SETTLING = Measure("the 200 µs after raising", "job")
BOOST = Measure("boost", "inherit", "job", 0)
DEBOOST = Measure("deboost", "inherit", "job", -1)
ARM = Measure("timerfd_settime()", "settime", "rise")


def rows(system: Measured, scenario: str, span: str) -> results.Table:
    """Every execution of a span."""
    table = system.table(scenario, "spans")
    return spans.select(table, table["span"] == span)


def _here(table: results.Table) -> results.Table:
    return spans.select(table, table["cpu"] == BUSY)


def _containers(inner: results.Table, outer: results.Table) -> Samples:
    """For each of ``inner`` the number of the one of ``outer`` that it lies in, or -1."""
    if not len(outer["begin"]):
        return np.full(len(inner["begin"]), -1)
    ends = outer["begin"] + outer["instructions"]
    position = np.searchsorted(outer["begin"], inner["begin"], side="right") - 1
    return np.where((position >= 0) & (inner["begin"] < ends[position]), position, -1)


def samples(system: Measured, scenario: str, measure: Measure) -> Samples:
    """Instructions of each execution on the busy CPU."""
    inner = _here(rows(system, scenario, measure.span))
    if not measure.mark:
        return np.asarray(inner["instructions"])
    # the plugin writes spans as they end; those of one name follow each other by their begins
    container = _containers(inner, _here(rows(system, scenario, measure.mark)))
    chosen = np.flatnonzero(container >= 0)
    if measure.which is not None:
        order = chosen if measure.which == 0 else chosen[::-1]
        _, first = np.unique(container[order], return_index=True)
        chosen = np.sort(order[first])
    return np.asarray(inner["instructions"][chosen])


def added(stock: Measured, system: Measured, scenario: str, measure: Measure) -> float | None:
    """What a typical execution takes more than on stock; ``None`` without samples."""
    a, b = (samples(s, scenario, measure) for s in (system, stock))
    return middle_mean(a) - middle_mean(b) if len(a) and len(b) else None
