# SPDX-License-Identifier: GPL-2.0-or-later
"""How tests outside guests are run."""

import re
from pathlib import Path

import pytest

from lab import clockfix_bench, host_tests
from lab.paths import BUILD, REPO
from lab.verdict import Verdict


def test_what_the_user_installs_is_not_the_labs(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [p.read_text() for p in (REPO / "README.md", *(REPO / "docs").glob("*.md"))]
    users = {BUILD / name for text in texts
             for name in re.findall(r"meson setup (?:-\S+ \S+ )?build/(\S+)", text)}
    assert {BUILD / "tools", BUILD / "clockfix"} <= users
    labs = {clockfix_bench.DIRECTORY}

    def meson(name: str, _source: Path, build: Path, *_options: str) -> Verdict:
        labs.add(build)
        return Verdict(name)

    monkeypatch.setattr(host_tests, "_meson", meson)
    host_tests._tools()
    host_tests._clockfix()
    assert len(labs) == 2
    assert not labs & users
