# SPDX-License-Identifier: GPL-2.0-or-later
"""What the demo says at its end."""

import shutil
from pathlib import Path

import pytest

from experiments.commands import demo
from experiments.response_time.experiment import EXPERIMENT
from lab.commands.cli import main


@pytest.mark.usefixtures("unpainted")
@pytest.mark.parametrize("interruptions", [0, 1])
def test_it_says_what_it_showed_and_what_that_costs(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], interruptions: int,
) -> None:
    place = tmp_path / "demo" / "results"
    shutil.copytree(sample / EXPERIMENT.name, place / EXPERIMENT.name)
    for mode, idle, loaded in (("off", 300_000, 400_000), ("shielded", 300_300, 303_000)):
        system = place / EXPERIMENT.name / f"x86_64-preempt-{mode}"
        for scenario, response in (("none", idle), (demo.WORST, loaded)):
            (system / scenario / "jobs.csv").write_text(
                "response_ns,interruptions,stolen_ns\n"
                f"{response},{interruptions if mode == 'shielded' else 9},0\n")
    monkeypatch.setattr(demo, "BUILD", tmp_path)
    monkeypatch.setattr(EXPERIMENT, "run", lambda _: None)
    assert main(["demo"]) == interruptions
    found = " ".join(capsys.readouterr().out.split())
    assert "the job took 33% longer without the shield (worst 400 µs), 0.9% with it" in found
    assert "What it costs a job that nothing disturbs: +0.10%" in found
    page = (tmp_path / "demo" / "report.html").read_text()
    order = [page.index(w) for w in ("33% longer without", "<svg", "<table", 'class="claims"')]
    assert order == sorted(order)
