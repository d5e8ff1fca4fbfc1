# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables on the terminal."""

import pytest

from experiments.report import terminal
from experiments.report.page import Table, Text


def test_no_number_is_cut_off(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    numbers = [f"{i}{i}{i}.{i}{i}" for i in range(1, 6)]
    terminal.show([Text("a heading", heading=True), Table(
        ["load", *(f"a long head {i}" for i in range(5))], [["100 tasks that sleep", *numbers]])])
    found = capsys.readouterr().out
    assert "a heading" in found
    assert all(n in found for n in numbers)
    assert "…" not in found
