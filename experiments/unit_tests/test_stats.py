# SPDX-License-Identifier: GPL-2.0-or-later
"""Statistics that judge."""

import numpy as np

from experiments.report.stats import middle_mean


def test_the_middle_is_not_moved_by_outliers_nor_by_which_kind_is_the_median() -> None:
    kinds = [700] * 20 + [1100] * 20
    a, b = [*kinds, 1100], [n + 30 for n in [*kinds, 700]] + [90000]
    assert abs(middle_mean(np.array(b)) - middle_mean(np.array(a)) - 30) < 12
