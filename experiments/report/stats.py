# SPDX-License-Identifier: GPL-2.0-or-later
"""Percentiles as everybody means them: the smallest sample that so many do not exceed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[Any]


def percentile(samples: Samples, percent: float) -> float:
    """The nearest-rank percentile; always one of the samples."""
    ordered = np.sort(samples)
    rank = int(np.ceil(round(percent * len(ordered) / 100, 6)))
    return float(ordered[max(rank, 1) - 1])


def middle_mean(samples: Samples) -> float:
    """The mean of what lies between the 5th and the 95th percentile."""
    ordered = np.sort(samples)
    cut = len(ordered) // 20
    return float(ordered[cut : len(ordered) - cut].mean())


@dataclass(frozen=True)
class Summary:
    """What a table shows of a distribution."""

    count: int
    p50: float
    p95: float
    p99: float
    p999: float
    p9999: float
    maximum: float


def summarize(samples: Samples) -> Summary:
    """Percentiles and maximum of at least one sample."""
    p50, p95, p99, p999, p9999 = (percentile(samples, p) for p in (50, 95, 99, 99.9, 99.99))
    return Summary(len(samples), p50, p95, p99, p999, p9999, float(np.max(samples)))


def cdf(samples: Samples) -> tuple[Samples, Samples]:
    """Values, and the share of samples that do not exceed each."""
    ordered = np.sort(samples)
    return ordered, np.arange(1, len(ordered) + 1) / len(ordered)
