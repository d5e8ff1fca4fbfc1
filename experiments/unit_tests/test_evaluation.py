# SPDX-License-Identifier: GPL-2.0-or-later
"""The frame: what failed is named, what is there stays, and of what it is."""

from pathlib import Path

import pytest

from experiments import guard, papers, registry, report
from experiments.commands import run
from experiments.common import running
from experiments.common.claims import EACH, Claim, Found
from experiments.common.experiment import Context, Experiment, Scenario
from experiments.measure.results import Store, write_meta
from experiments.measure.systems import System
from kernel.tools import patchset
from lab.errors import LabError
from lab.kernels import guests, kernels
from lab.kernels.platforms import Mode, Platform
from lab.progress import Progress


class Good(Experiment):
    """Leaves one system's results."""

    name = "good"
    title = "One that works"
    claims = (Claim("fast <always>", lambda _: Found("2 µs", 2), most=1, paper="1 µs", of=EACH),)
    of = ("experiments/guard.py",)

    def scenarios(self) -> dict[str, str]:
        return {"one": "the only one"}

    def run(self, context: Context) -> None:
        with context.store(self.name).replacing("x-stock") as directory:
            write_meta(directory, {"system": System(None, Mode.STOCK).described(), "scenarios": [],
                                   "titles": {}, "kernel": "Linux", "time": "none",
                                   "target": "none", "commands": {}})


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


@pytest.mark.parametrize("error", [LabError("the guest hangs"), ValueError("the guest hangs")])
def test_one_that_fails_is_named_and_costs_nothing_else(
    tmp_path: Path, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bad, "error", error)
    said: list[str] = []
    failed = run.measure(context(tmp_path), registry.EXPERIMENTS, said.append)
    assert list(failed) == ["bad"]
    assert said == ["1 of 2: bad", f"bad: {failed['bad']}", "2 of 2: good"]
    assert report.write(tmp_path, tmp_path / "report.html", failed) == {}
    page = (tmp_path / "report.html").read_text()
    assert f"<b>bad</b>: {failed['bad']}" in page
    assert "fast &lt;always&gt;" in page


def test_a_run_leaves_the_hash_of_what_it_measured(tmp_path: Path) -> None:
    run.measure(context(tmp_path), [Good()], print)
    now = guard.digest(Good.of, "host")
    assert Store(tmp_path, "good")["x-stock"].meta["measured"] == now
    [claim] = papers.compact(tmp_path)["good"]
    assert claim["measured"] == now


def test_an_earlier_run_is_kept_when_a_later_one_fails(tmp_path: Path) -> None:
    run.measure(context(tmp_path), [Good()], print)
    run.measure(context(tmp_path), [Bad()], print)
    assert Store(tmp_path, "good").systems() == ["x-stock"]


def test_who_interrupts_is_told_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Bad, "error", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        run.measure(context(tmp_path), [Good(), Bad()], print)
    assert "'lab/lab run bad' measures the rest" in capsys.readouterr().out
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


def test_a_kernel_without_levels_runs_what_classes_mask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "7.3" / "levels").mkdir(parents=True)
    monkeypatch.setattr(patchset, "PATCHES", tmp_path)
    both = [Scenario("a", "", ("--load=hogs:n=1",)), Scenario("b", "", ("--load=sleepers:n=1",))]
    for linux, mode, names in (("6.12", Mode.SHIELDED, "a"), ("7.3", Mode.SHIELDED, "ab"),
                               ("6.12", Mode.STOCK, "ab")):
        system = System(Platform("x86_64", "preempt", linux), mode)
        assert "".join(s.name for s in running._possible(system, both)) == names
