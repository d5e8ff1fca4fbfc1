# SPDX-License-Identifier: GPL-2.0-or-later
"""The frame: what failed is named, what is there stays, the same samples give the same page."""

import json
from pathlib import Path

import pytest

from experiments import registry
from experiments.commands import evaluate
from experiments.common import running
from experiments.common.claims import EACH, Claim, Found
from experiments.common.experiment import Context, Experiment, Scenario
from experiments.measure.results import Store, write_meta
from experiments.measure.systems import System
from experiments.report.page import Part, Text
from lab.errors import LabError
from lab.kernels import guests, kernels
from lab.kernels.platforms import Mode, Platform
from lab.progress import Progress


class Good(Experiment):
    """Leaves one system's results."""

    name = "good"
    title = "One that works"
    claims = (Claim("fast <always>", lambda _: Found("2 µs", 2), most=1, paper="1 µs", of=EACH),)

    def scenarios(self) -> dict[str, str]:
        return {"one": "the only one"}

    def run(self, context: Context) -> None:
        with Store(context.root, self.name).replacing("x-stock") as directory:
            write_meta(directory, {"system": System(None, Mode.STOCK).described(), "scenarios": [],
                                   "titles": {}, "kernel": "Linux", "time": "none",
                                   "target": "none", "jobs": context.jobs})

    def parts(self, store: Store) -> list[Part]:
        return [Text(f"{store['x-stock'].meta['jobs']} jobs")]


class Bad(Good):
    """Fails, in any way."""

    name = "bad"
    error: BaseException = LabError("the guest hangs")

    def run(self, context: Context) -> None:
        raise self.error


def context(root: Path, **more: bool) -> Context:
    return Context(progress=Progress(), root=root, **more)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "EXPERIMENTS", (Bad(), Good()))


def found_error(error: Exception) -> str:
    return str(error) if isinstance(error, LabError) else f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("error", [LabError("the guest hangs"), ValueError("the guest hangs")])
def test_one_that_fails_is_named_and_costs_nothing_else(
    tmp_path: Path, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bad, "error", error)
    said: list[str] = []
    assert evaluate.measure(context(tmp_path), said.append, directory=tmp_path) == 1
    assert said == ["1 of 2: bad", "bad: " + found_error(error), "2 of 2: good"]
    found = json.loads((tmp_path / "results.json").read_text())
    assert list(found["failed"]) == ["bad"]
    assert "the guest hangs" in found["failed"]["bad"]
    assert found["experiments"]["good"]["claims"][0]["verdict"] == "missed"
    page = (tmp_path / "report.html").read_text()
    assert "<b>bad</b>: " in page
    assert "1000 jobs" in page


def test_the_summary_comes_first_and_is_escaped(tmp_path: Path) -> None:
    assert evaluate.measure(context(tmp_path), print, ["good"], tmp_path) == 0
    page = (tmp_path / "report.html").read_text()
    assert "fast &lt;always&gt;" in page
    assert page.index("host: 2 µs") < page.index("<h2")
    assert "failed in this run" not in page


def test_the_same_samples_give_the_same_page(tmp_path: Path) -> None:
    evaluate.measure(context(tmp_path), print, ["good"], tmp_path)
    before = [(tmp_path / n).read_bytes() for n in ("report.html", "results.json")]
    evaluate.draw(tmp_path, {}, tmp_path)
    assert [(tmp_path / n).read_bytes() for n in ("report.html", "results.json")] == before


def test_an_earlier_run_is_kept_when_a_later_one_fails(tmp_path: Path) -> None:
    evaluate.measure(context(tmp_path), print, ["good"], tmp_path)
    evaluate.measure(context(tmp_path), print, ["bad"], tmp_path)
    assert "good" in json.loads((tmp_path / "results.json").read_text())["experiments"]


def test_who_interrupts_is_told_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(registry, "EXPERIMENTS", (Good(), Bad()))
    monkeypatch.setattr(Bad, "error", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        evaluate.measure(context(tmp_path), print, directory=tmp_path)
    assert "'lab/lab evaluate bad' measures the rest" in capsys.readouterr().out
    assert Store(tmp_path, "good").systems() == ["x-stock"]


def test_a_scenario_that_no_chosen_system_has_is_named(tmp_path: Path) -> None:
    asked = context(tmp_path)
    asked.only = ["none", "sync-2", "elsewhere"]
    assert asked.wants("none")
    with pytest.raises(LabError, match="not available on the selected kernels: sync-2$"):
        asked.require_offered(["none", "sync-2"])


def test_a_kernel_that_cannot_be_built_costs_only_its_own_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(kernel: kernels.Kernel, progress: Progress) -> None:
        if kernel.flavour == "rt":
            raise LabError(f"{kernel.name}: the build failed")

    ran: list[str] = []
    monkeypatch.setattr(kernels, "build", build)
    monkeypatch.setattr(guests, "build", lambda arch, programs: tmp_path)
    monkeypatch.setattr(
        running, "_run_system", lambda store, system, *rest: ran.append(system.name))
    systems = [System(Platform("x86_64", f), Mode.STOCK) for f in ("rt", "preempt")]
    with pytest.raises(LabError, match="x86_64-rt-stock: the build failed"):
        running.run_guest(context(tmp_path), "x", systems, "response",
                       [Scenario("none", "no load", ())])
    assert ran == ["x86_64-preempt-stock"]
