# SPDX-License-Identifier: GPL-2.0-or-later
"""Ages of packets that are known."""

import numpy as np

from experiments.age_of_information import packets
from experiments.measure.results import Table


def table(**columns: list[int]) -> Table:
    return {name: np.array(column) for name, column in columns.items()}


def test_ages_are_the_sum_of_their_parts_and_span_losses() -> None:
    iterations: Table = {**table(iteration=[0]), "timing": np.array(["poll"])}
    # packet 2 is lost, 4 came too late
    samples = table(
        iteration=[0] * 6, packet=list(range(6)), due_ns=[0, 100, 200, 300, 400, 500],
        sent_ns=[0, 101, 200, 300, 400, 500], arrival_ns=[0] * 6,
        received_ns=[30, 131, 0, 330, 990, 540], status=[1, 1, 0, 1, 2, 1],
    )
    found = packets.ages(samples, iterations, "poll")
    assert found.inter_send.tolist() == [101, 100]
    assert found.delivery.tolist() == [30, 30]
    assert found.inter_receive.tolist() == [199, 210]
    assert found.age.tolist() == [330, 340]
    assert (found.packets, found.lost) == (6, 2)
    assert found.lateness.tolist() == [0, 1, 0, 0, 0, 0]
