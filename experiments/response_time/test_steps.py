# SPDX-License-Identifier: GPL-2.0-or-later
"""From where on the shield pays."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from experiments.response_time import steps


def system(means: list[int]) -> Any:
    """That has such means next to 1, 2, … tasks."""
    return SimpleNamespace(table=lambda scenario, _: {
        "response_ns": np.array([means[int(scenario.partition("-")[2]) - 1]])})


@pytest.mark.parametrize(("stock", "shielded", "n"), [
    ([100, 100, 100, 110, 120], [101, 99, 100, 100, 100], 4), ([100], [101], None),
    ([100, 100], [99, 99], 1)])
def test_the_shield_pays_from_where_it_stays_ahead(
    stock: list[int], shielded: list[int], n: int | None
) -> None:
    scenarios = {i: steps.scenario(True, i) for i in range(1, len(stock) + 1)}
    assert steps.pays_from(system(stock), system(shielded), scenarios) == n
