# SPDX-License-Identifier: GPL-2.0-or-later
"""What the demo says at its end."""

from pathlib import Path

import pytest

from experiments.commands import demo
from experiments.common.fabricated import csv, write_scenarios
from experiments.response_loop.fabricated import response
from experiments.response_time.experiment import DEMO, EXPERIMENT
from lab.commands.cli import main


@pytest.mark.parametrize("interruptions", [0, 1])
def test_it_says_what_it_showed_and_what_that_costs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    interruptions: int,
) -> None:
    def files(scenario: str, p50: int, times: int) -> dict[str, str]:
        head = "due_ns,latency_ns,response_ns,interruptions,stolen_ns,products"
        return {**response(scenario), "jobs.csv": csv(head, [(0, 0, p50, times, 0, 0)] * 3)}

    def run(_context: object) -> None:
        for mode, loaded, times in (("off", 400_000, 9), ("shielded", 303_000, interruptions)):
            idle = 300_000 if mode == "off" else 300_300
            write_scenarios(tmp_path / "demo" / "results", EXPERIMENT.name,
                            f"x86_64-preempt-{mode}", {
                s: files(s, loaded if s == demo.WORST else idle, times if s == demo.WORST else 0)
                for s in DEMO})

    monkeypatch.setattr(demo, "BUILD", tmp_path)
    monkeypatch.setattr(EXPERIMENT, "run", run)
    assert main(["demo"]) == interruptions
    found = " ".join(capsys.readouterr().out.split())
    assert "the job took 33% longer without the shield (worst 400 µs), 0.9% with it" in found
    assert "What it costs a job that nothing disturbs: +0.10%" in found
    assert (tmp_path / "demo" / "report.html").exists()
