# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels with and without preemption, and late responses."""

from pathlib import Path

import pytest

from experiments.common.experiment import Context
from experiments.isolated_cpu.experiment import EXPERIMENT, SAMPLES, SCENARIOS, scenarios
from experiments.measure.results import Store, write_meta
from experiments.measure.systems import System
from lab.kernels.platforms import Mode, Platform
from lab.progress import Progress

SLOWEST = 33
"""One more than the 99.9th percentile has beyond it."""
SYSTEM = System(Platform("x86_64", "preempt", debian="12"), Mode.STOCK, 2)


def measured(root: Path, responses: dict[str, tuple[int, int]], count: int) -> list[bool | None]:
    """Verdicts on scenarios with so many responses of so many ns; the others take 5."""
    store = Store(root, EXPERIMENT.name)
    with store.replacing(SYSTEM.name) as directory:
        for name, (slow, ns) in responses.items():
            (directory / name).mkdir()
            (directory / name / "summary.csv").write_text("name,value\n")
            (directory / name / "samples.csv").write_text(
                "response_ns\n" + f"{ns}\n" * slow + "5\n" * (count - slow))
        write_meta(directory, {"system": SYSTEM.described(), "target": "guest", "kernel": "Linux",
                               "time": "counted", "scenarios": list(responses),
                               "titles": {n: n for n in responses}})
    return [judged.met for judged in EXPERIMENT.judged(store)]


@pytest.mark.parametrize(("slowest", "count", "met"), [
    ((452, 451, 450), SAMPLES, True), ((451, 451, 450), SAMPLES, False),
    ((452, 450, 451), SAMPLES, False), ((452, 451, 450), SAMPLES - 1, None)])
def test_preemption_that_does_not_help_is_missed(
    tmp_path: Path, slowest: tuple[int, ...], count: int, met: bool | None
) -> None:
    names = ("kernel-none", "kernel-voluntary", "kernel-full")
    responses = {name: (SLOWEST, ns) for name, ns in zip(names, slowest, strict=True)}
    assert measured(tmp_path, responses, count) == ([] if met is None else [met])


@pytest.mark.parametrize(("late", "ns", "met"), [
    (0, 0, [True, False]), (327, 500_001, [True, True]), (328, 200_001, [False, False])])
def test_both_halves_of_the_articles_late_responses(
    tmp_path: Path, late: int, ns: int, met: list[bool]
) -> None:
    assert measured(tmp_path, {"kernel": (late, ns)}, SAMPLES) == met


@pytest.mark.parametrize(("slowest", "count", "met"), [
    (450, SAMPLES, [True]), (449, SAMPLES, [False]), (450, SAMPLES - 1, [])])
def test_isolation_that_helps_less_is_missed(
    tmp_path: Path, slowest: int, count: int, met: list[bool]
) -> None:
    responses = {"kernel": (SLOWEST, slowest), "kernel-isolated": (SLOWEST, 10)}
    assert measured(tmp_path, responses, count)[-len(met) or len(responses):] == met


@pytest.mark.parametrize(("kind", "line", "come"), [
    ("task", "{ next_pid: 7, next_comm: kworker/u9:2 } hitcount: 2", 2),
    ("task", "{ next_pid: 7, next_comm: stress-ng-udp } hitcount: 1", 1),
    ("task", "{ next_pid: 7, next_comm: kworker/0:1H } hitcount: 1", 0),
    ("task", "    Dropped: 1", 1),
    ("irq", "{ irq: 9, name: eth0 } hitcount: 1", 1),
    ("irq", "{ irq: 16, name: hpet2 } hitcount: 1", 0)])
def test_what_comes_to_an_isolated_cpu_is_missed(
    tmp_path: Path, kind: str, line: str, come: int
) -> None:
    assert measured(tmp_path, {"kernel-isolated": (0, 0)}, 1) == []
    hist = tmp_path / EXPERIMENT.name / SYSTEM.name / "kernel-isolated" / f"{kind}.hist"
    hist.write_text(f"{line}\n")
    [judged] = EXPERIMENT.judged(Store(tmp_path, EXPERIMENT.name))
    assert (judged.value, judged.met) == (come, not come)


def test_more_jobs_are_more_responses(tmp_path: Path) -> None:
    context = Context(progress=Progress(), root=tmp_path, jobs=2000)
    for scenario in scenarios(context, SCENARIOS):
        assert f"--samples={2 * SAMPLES}" in scenario.words
