# SPDX-License-Identifier: GPL-2.0-or-later
"""Clock correction on clocks that are known, and ages of packets that are known."""

import numpy as np
import pytest

from experiments.age_of_information import clocks, packets
from experiments.age_of_information.clocks import Correction, Numbers
from lab.errors import LabError
from lab.measure.results import Table

SECOND = 1e9


def seeming_times(
    rng: np.random.Generator, *, offset: float, drift: float, base: float, sign: int = 1,
    count: int = 2000,
) -> tuple[Numbers, Numbers]:
    """Dates, and delivery times as a node sees them whose clock is ahead (or behind)."""
    date = np.sort(rng.uniform(0, 5 * SECOND, count))
    took = base + rng.exponential(20_000, count)
    took[0] = base
    return date, took + sign * (offset + drift * date)


@pytest.mark.parametrize("slope", [0.0, 4e-5, -3.0])
def test_parallel_lines_through_points_on_parallel_lines(slope: float) -> None:
    x = np.array([0.0, 1, 2, 10])
    y = np.array([5.0, 6])
    lines = clocks.fit_parallel_lines([(x, slope * x + 7), (y, slope * y - 1)])
    assert lines.slope == pytest.approx(slope, abs=1e-12)
    assert lines.intercepts == pytest.approx((7, -1))


def test_one_group_is_the_least_squares_line() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.uniform(0, 10, 50), rng.uniform(0, 10, 50)
    lines = clocks.fit_parallel_lines([(x, y)])
    assert (lines.slope, lines.intercepts[0]) == pytest.approx(tuple(np.polyfit(x, y, 1)))


def test_groups_at_different_times_do_not_make_a_slope() -> None:
    # the two protocol versions differ in level: that must not be taken for drift
    early, late = np.arange(10.0), np.arange(10.0) + 100
    assert clocks.fit_parallel_lines([(early, early * 0), (late, late * 0 + 50)]).slope == 0


def test_points_of_one_date_are_refused() -> None:
    with pytest.raises(LabError, match="fewer than two points in time"):
        clocks.fit_parallel_lines([(np.array([3.0]), np.array([1.0])), (np.array([]),) * 2])


@pytest.mark.parametrize("drift", [0.0, 40e-6, -200e-6])
@pytest.mark.parametrize("offset", [0.0, 2.5e9, -7e8])
def test_known_drift_and_offset_are_found(offset: float, drift: float) -> None:
    rng = np.random.default_rng(2)
    groups = [seeming_times(rng, offset=offset, drift=drift, base=b) for b in (30e3, 55e3)]
    reverse = seeming_times(rng, offset=offset, drift=drift, base=30e3, sign=-1)
    found = clocks.correction(groups, reverse)
    assert found.drift == pytest.approx(drift, abs=1e-6)
    for date in (0.0, 5 * SECOND):
        truth = offset + drift * date
        assert float(found.ahead(np.array(date))) == pytest.approx(truth, abs=4_000)


def test_outliers_do_not_turn_the_lines() -> None:
    rng = np.random.default_rng(3)
    date, took = seeming_times(rng, offset=0, drift=40e-6, base=30e3)
    took[-100:] += 50e6
    assert clocks.fit_drift([(date, took)]).slope == pytest.approx(40e-6, abs=1e-6)
    assert abs(clocks.fit_parallel_lines([(date, took)]).slope - 40e-6) > 1e-4


def test_ways_of_unequal_length_leave_half_their_difference() -> None:
    rng = np.random.default_rng(4)
    there = seeming_times(rng, offset=0, drift=0, base=40e3)
    back = seeming_times(rng, offset=0, drift=0, base=20e3, sign=-1)
    assert clocks.constant_offset(there[1], back[1]) == pytest.approx(10e3)


def test_without_the_reverse_iteration_there_is_no_offset() -> None:
    rng = np.random.default_rng(5)
    with pytest.raises(LabError, match="other direction"):
        clocks.correction([seeming_times(rng, offset=0, drift=0, base=1e3)],
                          (np.array([]), np.array([])))


def table(**columns: list[int]) -> Table:
    return {name: np.array(column) for name, column in columns.items()}


def test_ages_are_the_sum_of_their_parts_and_span_losses() -> None:
    iterations: Table = {**table(iteration=[0, 1], reverse=[0, 1]),
                         "timing": np.array(["poll", "poll"])}
    # packet 2 is lost, 4 came too late
    samples = table(
        iteration=[0] * 6, packet=list(range(6)), due_ns=[0, 100, 200, 300, 400, 500],
        sent_ns=[0, 101, 200, 300, 400, 500], arrival_ns=[0] * 6,
        received_ns=[30, 131, 0, 330, 990, 540], status=[1, 1, 0, 1, 2, 1],
    )
    found = packets.ages(samples, iterations, "poll", Correction(0, 0, 0))
    assert found.inter_send.tolist() == [101, 100]
    assert found.delivery.tolist() == [30, 30]
    assert found.inter_receive.tolist() == [199, 210]
    assert found.age.tolist() == [330, 340]
    assert (found.packets, found.lost) == (6, 2)
    assert found.lateness.tolist() == [0, 1, 0, 0, 0, 0]


def test_the_correction_is_taken_from_delivery_times() -> None:
    iterations: Table = {**table(iteration=[0], reverse=[0]), "timing": np.array(["poll"])}
    samples = table(iteration=[0] * 3, packet=[0, 1, 2], due_ns=[0, 1000, 2000],
                    sent_ns=[0, 1000, 2000], arrival_ns=[0] * 3,
                    received_ns=[530, 1540, 2550], status=[1, 1, 1])
    found = packets.ages(samples, iterations, "poll", Correction(0.01, 500, 0))
    assert found.delivery.tolist() == [30]
    assert found.inter_receive.tolist() == [1000]
