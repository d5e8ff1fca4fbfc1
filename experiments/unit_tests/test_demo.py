# SPDX-License-Identifier: GPL-2.0-or-later
"""What the demo says, of a guest that has run."""

from pathlib import Path

import pytest

from experiments.commands import demo
from lab.boot import qemu
from lab.boot.protocol import Outcome, Transcript
from lab.commands.cli import main
from lab.kernels import guests, kernels

PRINTED = """\
1 of 5, next to nothing: calibrating
{} next to: 1,000 timerfds.

next to   p50, us         max             interruptions  the shield
nothing   303.7 -> 303.8  304.6 -> 304.8  0.00 -> 0.00   does not help
timerfds  384.1 -> 308.4  427.3 -> 337.1  60.02 -> {}   helps

A FIFO 99 loop did 300 us of work 600 times in each turn (shield off, on, off).
"""
HELPS = "The shield helps on this machine,"


@pytest.mark.parametrize(("interruptions", "verdict", "status"), [
    ("0.00", HELPS, 0), ("0.01", HELPS, 1), ("0.00", "The shield costs time", 1)])
def test_it_shows_what_prove_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    interruptions: str, verdict: str, status: int,
) -> None:
    text = PRINTED.format(verdict, interruptions)
    outcome = Outcome("prove", text, 0, files={"report.html": b"<h1>x</h1><svg>"})
    transcript = Transcript()
    transcript.uname, transcript.outcomes = "Linux 6.12.1 #1 SMP", [outcome]
    monkeypatch.setattr(demo, "BUILD", tmp_path)
    monkeypatch.setattr(kernels, "build", lambda *_: None)
    monkeypatch.setattr(kernels, "modules", lambda *_: [])
    monkeypatch.setattr(guests, "build", lambda *_: tmp_path)
    monkeypatch.setattr(guests, "image", lambda *_: b"")
    monkeypatch.setattr(qemu, "run_commands",
                        lambda kernel, *_, **more: qemu.Run(kernel, transcript, ""))
    assert main(["demo"]) == status
    found = capsys.readouterr().out
    assert found.startswith(f"Linux 6.12.1, timershield prove:\n{verdict}")
    assert max(map(len, found.splitlines()[:-3])) <= 80
    page = (tmp_path / "demo" / "report.html").read_text()
    assert page.startswith(f"<h1>x</h1>\n<p>{demo.NOT_SHOWN}</p>")
