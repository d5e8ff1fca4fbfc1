# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples of responses on an isolated CPU."""

from pathlib import Path

import pytest

from experiments.common.experiment import Context
from experiments.common.fabricated import JOBS, Files, column, csv, summary, write_scenarios
from experiments.isolated_cpu.experiment import EXPERIMENT, SCENARIOS, scenarios
from lab.progress import Progress

SYSTEMS = ("x86_64-preempt-off", "arm64-rt-off")


def fabricated(_: str) -> Files:
    """What the guest leaves."""
    return {"samples.csv": csv("interrupt,woke_ns,interval_ns,response_ns", (
                (i, i * 488_281, 488_281, 9_000 + 7 * i) for i in range(1, JOBS))),
            "visitors.csv": csv("kind,id,name,bound,first_ms,later", (
                ("task", 7, "load", 0, 3, 4), ("irq", 8, "rtc", 1, 1, 9),
                ("lost", 0, "events", 0, 0, 0))),
            "summary.csv": summary(samples=JOBS, period_ns=488_281, isolated=0, missed=0)}


@pytest.mark.parametrize(("worst", "met"), [(451, True), (450, False)])
def test_preemption_that_does_not_help_is_missed(tmp_path: Path, worst: int, met: bool) -> None:
    store = write_scenarios(tmp_path, "isolated-cpu", "x86_64-preempt-stock", {
        f"kernel-{how}": {"samples.csv": column("response_ns", [5, most])}
        for how, most in (("none", worst), ("voluntary", 500), ("full", 450))})
    assert [c.met for c in EXPERIMENT.claims(store)] == [met]


@pytest.mark.parametrize(("worst", "met"), [(450, True), (449, False)])
def test_less_for_a_device_is_missed(tmp_path: Path, worst: int, met: bool) -> None:
    store = write_scenarios(tmp_path, "isolated-cpu", "debian12-6.12-stock", {
        name: {"samples.csv": column("response_ns", [5, most]),
               "visitors.csv": csv("kind,id,name,bound,first_ms,later", [])}
        for name, most in (("device", worst), ("device-isolated", 10))})
    assert [c.met for c in EXPERIMENT.claims(store)] == [met]


@pytest.mark.parametrize(("worst", "visits", "verdicts"), [
    (450, 0, [True, True]), (449, 0, [False, True]), (450, 1, [True, False])])
def test_less_isolation_is_missed(
    tmp_path: Path, worst: int, visits: int, verdicts: list[bool]
) -> None:
    def files(response: int, later: int) -> Files:
        return {"samples.csv": column("response_ns", [5, response]),
                "visitors.csv": csv("kind,id,name,bound,first_ms,later",
                                    [("task", 7, "load", 0, 3, later)])}

    store = write_scenarios(tmp_path, "isolated-cpu", SYSTEMS[0], {
        "kernel": files(worst, 9), "kernel-isolated": files(10, visits)})
    assert [c.met for c in EXPERIMENT.claims(store)] == verdicts


def test_more_jobs_are_more_responses(tmp_path: Path) -> None:
    context = Context(progress=Progress(), root=tmp_path, jobs=2000)
    for scenario in scenarios(context, SCENARIOS):
        assert "--samples=8192" in scenario.words
