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


@dataclass(frozen=True)
class Summary:
    """Of a distribution."""

    count: int
    p50: float
    p999: float
    maximum: float


def summarize(samples: Samples) -> Summary:
    """Percentiles and maximum of at least one sample."""
    return Summary(len(samples), percentile(samples, 50), percentile(samples, 99.9),
                   float(np.max(samples)))
