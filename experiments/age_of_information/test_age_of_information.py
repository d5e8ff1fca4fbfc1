# SPDX-License-Identifier: GPL-2.0-or-later
"""Ages of packets that are known."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from experiments.age_of_information.experiment import ages


def test_ages_are_the_sum_of_their_parts_and_span_losses() -> None:
    tables = {
        "iterations": {"iteration": np.array([0]), "timing": np.array(["poll"])},
        "packets": {  # packet 2 is lost
            "iteration": np.array([0] * 5), "sent_ns": np.array([0, 101, 200, 300, 400]),
            "received_ns": np.array([30, 131, 0, 330, 440]), "status": np.array([1, 1, 0, 1, 1])}}
    system: Any = SimpleNamespace(table=lambda _, name: tables[name])
    found = ages(system, "x")["poll"]
    assert list(found["inter-send"]) == [101, 100]
    assert list(found["delivery"]) == [30, 30]
    assert list(found["inter-receive"]) == [199, 110]
    assert list(found["age"]) == [330, 240]
