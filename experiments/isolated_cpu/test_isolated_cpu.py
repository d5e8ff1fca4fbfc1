# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples of responses on an isolated CPU."""

from pathlib import Path

import pytest

from experiments.common.experiment import Context
from experiments.common.fabricated import JOBS, Files, column, csv, summary, write_scenarios
from experiments.isolated_cpu.experiment import EXPERIMENT, SAMPLES, SCENARIOS, scenarios
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


def responses(slowest: int, count: int = SAMPLES) -> dict[str, str]:
    """Of one in 10,000, ns; the others take 5."""
    slow = count // 10_000 + 1
    return {"samples.csv": column("response_ns", [slowest] * slow + [5] * (count - slow))}


def visited(slowest: int, kind: str = "task", later: int = 0, count: int = SAMPLES
            ) -> dict[str, str]:
    return {**responses(slowest, count),
            "visitors.csv": csv("kind,id,name,bound,first_ms,later", [(kind, 7, "x", 0, 3, later)])}


@pytest.mark.parametrize(("slowest", "count", "met"), [
    ((452, 451, 450), SAMPLES, True), ((451, 451, 450), SAMPLES, False),
    ((452, 450, 451), SAMPLES, False), ((452, 451, 450), SAMPLES - 1, None)])
def test_preemption_that_does_not_help_is_missed(
    tmp_path: Path, slowest: tuple[int, ...], count: int, met: bool | None
) -> None:
    store = write_scenarios(tmp_path, "isolated-cpu", "debian12-6.12-stock", {
        f"kernel-{how}": responses(most, count)
        for how, most in zip(("none", "voluntary", "full"), slowest, strict=True)})
    assert [c.met for c in EXPERIMENT.claims(store)] == [met]


@pytest.mark.parametrize(("slowest", "kind", "later", "count", "verdicts"), [
    (450, "task", 0, SAMPLES, [True, True]), (449, "task", 0, SAMPLES, [False, True]),
    (450, "task", 1, SAMPLES, [True, False]), (450, "irq", 1, SAMPLES, [True, False]),
    (450, "softirq", 1, SAMPLES, [True, False]), (450, "lost", 1, SAMPLES, [True, False]),
    (450, "task", 0, SAMPLES - 1, [None, True])])
@pytest.mark.parametrize("name", ["device", "softirqs"])
def test_less_isolation_is_missed(
    tmp_path: Path, name: str, slowest: int, kind: str, later: int, count: int,
    verdicts: list[bool | None],
) -> None:
    store = write_scenarios(tmp_path, "isolated-cpu", "debian12-6.12-stock", {
        name: visited(slowest, "task", 9, count),
        f"{name}-isolated": visited(10, kind, later, count)})
    assert [c.met for c in EXPERIMENT.claims(store)] == verdicts


@pytest.mark.parametrize(("late", "met"), [(0, False), (1, True), (327, True), (328, False)])
def test_the_articles_late_responses(tmp_path: Path, late: int, met: bool) -> None:
    values = [500_001] * late + [500_000] * (SAMPLES - late)
    store = write_scenarios(tmp_path, "isolated-cpu", SYSTEMS[0], {
        "kernel": {"samples.csv": column("response_ns", values)}})
    assert [c.met for c in EXPERIMENT.claims(store)] == [met]


def test_more_jobs_are_more_responses(tmp_path: Path) -> None:
    context = Context(progress=Progress(), root=tmp_path, jobs=2000)
    for scenario in scenarios(context, SCENARIOS):
        assert f"--samples={2 * SAMPLES}" in scenario.words
