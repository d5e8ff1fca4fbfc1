# SPDX-License-Identifier: GPL-2.0-or-later
from pathlib import Path

import pytest

from kernel.tools import patchset
from kernel.tools.patchset import BASE, apply, git, refresh
from lab.errors import LabError
from lab.unit_tests.linux_tree import TEXT, make_tree, snapshot

FILES = {"lib/queue.c": "int queue;\n",
         "kernel/time/hrtimer.c": TEXT.replace("line_12", "line_12_patched"),
         "kernel/time/timershield_levels.h": "int levels;\n",
         "kernel/sched/core.c": TEXT.replace("line_5;", "hook;")}
SUBJECTS = ["timershield: add the new files of classes", "timer: change a line",
            "timershield: add the new files of levels", "sched: change the scheduler"]


def commit(tree: Path, subject: str, path: str, text: str) -> None:
    (tree / path).parent.mkdir(exist_ok=True)
    (tree / path).write_text(text)
    git(tree, "add", ".")
    git(tree, "commit", "-qm", subject)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git tree of Linux, and a patch set for it that :func:`refresh` has written."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setattr(patchset, "NEW_FILES", tmp_path / "src")
    monkeypatch.setattr(patchset, "PATCHES", tmp_path / "patches")
    root = make_tree(tmp_path / "linux")
    git(root, "config", "--global", "user.name", "A B")
    git(root, "config", "--global", "user.email", "a@b")
    git(root, "init", "-q")
    commit(root, "linux", "COPYING", "")
    git(root, "tag", BASE)
    for subject, (path, text) in zip(SUBJECTS, FILES.items(), strict=True):
        commit(root, subject, path, text)
    refresh(root, "6.12")
    for series in patchset.SERIES:
        (tmp_path / f"patches/{series}.txt").write_text("Subject: letter\n")
    git(root, "reset", "-q", "--hard", BASE)
    return root


def test_applied_once_and_taken_off(tree: Path) -> None:
    before = snapshot(tree)
    apply(tree, "6.12", check=True)
    assert snapshot(tree) == before
    apply(tree, "6.12")
    after = snapshot(tree)
    assert after == before | {path: text.encode() for path, text in FILES.items()}
    apply(tree, "6.12")
    apply(tree, "6.12", reverse=True, check=True)
    assert snapshot(tree) == after
    apply(tree, "6.12", reverse=True)
    assert snapshot(tree) == before


@pytest.mark.parametrize(("path", "complaint"), [
    ("kernel/sched/core.c", r"(?s)levels/0001-sched-.*\.patch .*kernel/sched/core\.c"),
    ("lib/queue.c", r"(?s)new-files\.patch does not fit .*lib/queue\.c,.which already exists"),
])
@pytest.mark.parametrize("way", ["plain", "commit", "reverse"])
def test_what_does_not_fit_is_named_and_changes_nothing(
    tree: Path, path: str, complaint: str, way: str
) -> None:
    commit(tree, "not ours", path, "int x;\n")
    before = snapshot(tree)
    with pytest.raises(LabError, match="" if way == "reverse" else complaint):
        apply(tree, "6.12", reverse=way == "reverse", commit=way == "commit")
    assert snapshot(tree) == before


def test_nothing_is_written_unless_all_can_be(tree: Path) -> None:
    (tree / "lib").write_text("no folder\n")
    before = snapshot(tree)
    with pytest.raises(OSError, match="lib"):
        apply(tree, "6.12")
    assert snapshot(tree) == before


def test_refresh_writes_back_what_was_edited_and_no_other_byte(tree: Path) -> None:
    before = snapshot(patchset.PATCHES)
    assert before["6.12/levels/0001-sched-change-the-scheduler.patch"].startswith(
        b"Subject: sched: change the scheduler\n\n\n---\n"
        b"diff --git a/kernel/sched/core.c b/kernel/sched/core.c\n--- a/kernel/sched/core.c\n")
    apply(tree, "6.12", commit=True)
    new = "kernel/time/timershield_levels.h"
    (tree / new).write_text("int better;\n")
    with pytest.raises(LabError, match="changes that are not committed"):
        refresh(tree, "6.12")
    git(tree, "commit", "-qa", "--fixup=HEAD^")
    git(tree, "-c", "sequence.editor=:", "rebase", "-qi", "--autosquash", BASE)
    commit(tree, "sched: third", "kernel/sched/core.c",
           FILES["kernel/sched/core.c"].replace("line_30", "line_30_patched"))
    refresh(tree, "6.12")
    assert snapshot(patchset.NEW_FILES) == {"lib/queue.c": b"int queue;\n", new: b"int better;\n"}
    after = snapshot(patchset.PATCHES)
    assert b"line_30_patched" in after.pop("6.12/levels/0002-sched-third.patch")
    assert after == before
    git(tree, "reset", "-q", "--hard", "HEAD~3")
    refresh(tree, "6.12")
    assert [p.name for p in patchset.patches("6.12")] == ["0001-timer-change-a-line.patch"]
    assert snapshot(patchset.NEW_FILES) == {"lib/queue.c": b"int queue;\n"}


def test_refresh_refuses_what_it_cannot_write(tree: Path) -> None:
    with pytest.raises(LabError, match="not a git work tree"):
        refresh(patchset.PATCHES, "6.12")
    apply(tree, "6.12", commit=True)
    with pytest.raises(LabError, match="no commit after HEAD that adds new files"):
        refresh(tree, "6.12", "HEAD")
    with pytest.raises(LabError, match="'timer: change a line' is before the commit that adds"):
        refresh(tree, "6.12", "HEAD~3")
    git(tree, "commit", "-q", "--allow-empty", "--fixup=HEAD")
    with pytest.raises(LabError, match="fixup! sched: .*: first git rebase"):
        refresh(tree, "6.12")


def test_series_applies_with_git_am(tree: Path) -> None:
    for series in patchset.SERIES:
        cover, *mails = patchset.mails("6.12", series, signoff=True).values()
        assert "[PATCH 0/2] letter\n" in cover
        git(tree, "am", "-q", text="".join(mails))
    apply(tree, "6.12", reverse=True, check=True)
    assert git(tree, "log", "--reverse", "--format=%s|%(trailers:separator=)", f"{BASE}..") == (
        "".join(f"{subject}|Signed-off-by: A B <a@b>\n" for subject in SUBJECTS))
    git(tree, "config", "--global", "--unset", "user.name")
    with pytest.raises(LabError, match=r"first set user\.name and user\.email"):
        patchset.mails("6.12", "levels", signoff=True)


@pytest.mark.parametrize(("command", "complaint"), [
    ("apply", "this is Linux 6.1.7; there are patches for 6.12"),
    ("series", "is not an empty directory"),
])
def test_an_error_is_one_line(
    tree: Path, capsys: pytest.CaptureFixture[str], command: str, complaint: str
) -> None:
    (tree / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 7\n")
    assert patchset.main(command, [str(tree)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"kernel/{command}: {tree}")
    assert complaint in error
    assert error.count("\n") == 1
