# SPDX-License-Identifier: GPL-2.0-or-later
"""packaging/release, on a copy of the files that have a version."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lab.paths import REPO

PLACES = ("CHANGELOG.md", "packaging/release", "packaging/debian/*", "command/meson.build",
          "clockfix/meson.build", "clockfix/**/Cargo.toml", "clockfix/**/pyproject.toml",
          "clockfix/rust/Makefile")
NOT_THE_PROJECTS = r">=|^clockfix/meson\.build:\d\d+:"
"""Of a program that is needed, or of the library's interface."""


def run(root: Path, command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, shell=True, cwd=root, capture_output=True, text=True,
                          check=False)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "a")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "a@b")
    for place in PLACES:
        for file in (f for f in REPO.glob(place) if f.is_file()):
            target = tmp_path / file.relative_to(REPO)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
    with (tmp_path / "CHANGELOG.md").open("a") as changes:
        changes.write("\n## 9.8.7\n")
    assert not run(tmp_path, "git init -q && git add . && git commit -qm x").returncode
    return tmp_path


def test_every_version_is_set_and_tagged(project: Path) -> None:
    old = re.search(r"^  version : '(.*)'", (project / "command/meson.build").read_text(), re.M)
    assert old is not None
    done = run(project, "packaging/release 9.8.7")
    assert (done.returncode, done.stderr) == (0, "")
    assert run(project, "git describe; git status --short").stdout == "v9.8.7\n"
    left = run(project, f"git grep -nF {old[1]} -- '*.build' '*.toml' '*Makefile'").stdout
    assert [x for x in left.splitlines() if not re.search(NOT_THE_PROJECTS, x)] == []
    changes = (project / "packaging/debian/changelog").read_text()
    assert changes.startswith("timershield (9.8.7) unstable;")


@pytest.mark.parametrize(("before", "version", "complaint"), [
    ("", "1.2", "which version?"),
    ("", "9.8.8", "CHANGELOG.md needs a section '## 9.8.8'"),
    ("echo >> CHANGELOG.md", "9.8.7", "commit or remove first"),
    ("git tag v9.8.7", "9.8.7", "there is a tag v9.8.7 already"),
])
def test_what_is_amiss_changes_nothing(
    project: Path, before: str, version: str, complaint: str
) -> None:
    run(project, before)
    state = run(project, "git rev-parse HEAD; git diff").stdout
    done = run(project, f"packaging/release {version}")
    assert done.returncode == 1
    assert complaint in done.stderr
    assert run(project, "git rev-parse HEAD; git diff").stdout == state
