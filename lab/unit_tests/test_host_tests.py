# SPDX-License-Identifier: GPL-2.0-or-later
"""How tests outside guests are run."""

import re
from pathlib import Path

import pytest

from lab.measure import clockfix_bench
from lab.paths import BUILD, REPO
from lab.runner import host_tests
from lab.runner.verdict import Verdict


def test_what_the_user_installs_is_not_the_labs(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [p.read_text() for p in (REPO / "README.md", *(REPO / "docs").glob("*.md"))]
    users = {BUILD / name for text in texts
             for name in re.findall(r"meson setup (?:-\S+ \S+ )?build/(\S+)", text)}
    assert BUILD / "clockfix" in users
    labs = {clockfix_bench.DIRECTORY}

    def meson(name: str, _source: Path, build: Path, *_options: str) -> Verdict:
        labs.add(build)
        return Verdict(name)

    monkeypatch.setattr(host_tests, "_meson", meson)
    host_tests._command()
    host_tests._clockfix()
    assert len(labs) == 2
    assert not labs & users


def test_linters_are_those_that_make_installs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho \"$@\" > \"$0.called\"\n")
    python.chmod(0o755)
    monkeypatch.setattr(host_tests, "VENV_PYTHON", python)
    assert host_tests._linter("x", "ruff", "check").passed == 1
    assert (tmp_path / "python.called").read_text() == "-m ruff check\n"


def test_a_linter_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_tests, "VENV_PYTHON", tmp_path / "none")
    verdict = host_tests._linter("x", "no_such_linter")
    assert (verdict.passed, verdict.failed) == (0, 1)
    assert verdict.notes == ["no_such_linter is not installed; 'make test' brings it"]
