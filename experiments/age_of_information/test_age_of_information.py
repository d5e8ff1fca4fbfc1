# SPDX-License-Identifier: GPL-2.0-or-later
"""Clock correction on clocks that are known, and ages of packets that are known."""

from pathlib import Path

import numpy as np
import pytest

from experiments.age_of_information import clocks, packets, section
from experiments.age_of_information import experiment as age_of_information
from experiments.age_of_information.clocks import Correction, Numbers
from experiments.common.fabricated import Files, summary, write_scenarios
from experiments.report.page import page
from lab.errors import LabError
from lab.measure.results import Store, Table

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


def made_up(intervals: dict[str, int]) -> Files:
    """Packets of 20 µs delivery, one each interval, on clocks 1 s apart."""
    rows, plan = [], []
    rng = np.random.default_rng(6)
    for number, (timing, reverse) in enumerate(
            (t, r) for r in (0, 1) for t in intervals):
        plan.append(f"{number},{timing},{reverse},1000000,100000,200000,1,1,0")
        for k in range(40):
            sent = number * 10_000_000 + k * intervals[timing]
            took = 20_000 + int(rng.integers(0, 100)) * (k > 0)
            ahead = -1_000_000_000 if reverse else 1_000_000_000
            rows.append(f"{number},{k},{sent},{sent},{sent + took + ahead},"
                        f"{sent + took + ahead},1")
    return {
        "packets.csv": "iteration,packet,due_ns,sent_ns,arrival_ns,received_ns,status\n"
                       + "\n".join(rows) + "\n",
        "iterations.csv": "iteration,timing,reverse,elapsed_ns,sender_cpu_ns,receiver_cpu_ns,"
                          "bottleneck_ns,min_rtt_ns,reported_lost\n" + "\n".join(plan) + "\n",
        "summary.csv": "name,value\nclock_offset_ns,1000000000\nclock_drift_ppb,0\n",
    }


def fabricated(_: str) -> Files:
    """What the program leaves."""
    return made_up({"nanosleep": 100_000, "clockfix": 80_000})


@pytest.mark.parametrize(("ours", "met"), [(80_000, True), (99_000, False)])
def test_the_verdict_depends_on_the_samples(tmp_path: Path, ours: int, met: bool) -> None:
    store = write_scenarios(tmp_path, "age-of-information", "host-stock", {
        "300-mbit": made_up({"nanosleep": 100_000, "clockfix": ours})})
    age, delivery, clock = section.claims(store)
    assert (age.met, delivery.met, clock.met) == (met, None, True)
    experiment = age_of_information.EXPERIMENT
    once, again = (page("t", [], [experiment.section(Store(tmp_path, experiment.name))])
                   for _ in range(2))
    assert once == again
    assert "300-mbit" in once


@pytest.mark.parametrize(("offset", "drift_ppb"), [(1_000_000_000, 36_000), (1_000_030_000, 0)])
def test_a_wrong_correction_of_the_clocks_is_missed(
    tmp_path: Path, offset: int, drift_ppb: int
) -> None:
    files = made_up({"nanosleep": 100_000, "clockfix": 80_000})
    files["summary.csv"] = summary(clock_offset_ns=offset, clock_drift_ppb=drift_ppb)
    store = write_scenarios(tmp_path, "age-of-information", "host-stock", {"300-mbit": files})
    assert section.claims(store)[2].met is False
