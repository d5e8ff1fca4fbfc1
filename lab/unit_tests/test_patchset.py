# SPDX-License-Identifier: GPL-2.0-or-later
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kernel.tools import commands, patchset
from kernel.tools.commands import BASE, apply, git
from kernel.tools.patchset import Patchset
from lab.errors import LabError
from lab.unit_tests.linux_tree import HRTIMER, make_patchset, make_tree, snapshot


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git tree of Linux."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "a")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@b")
    root = make_tree(tmp_path / "linux")
    subprocess.run("git init -q && git add -A && git commit -qm linux", shell=True, check=True,
                   cwd=root)
    return root


@pytest.fixture
def patches(tmp_path: Path) -> Patchset:
    return make_patchset(tmp_path / "shield")


def test_applied_once_and_taken_off(tree: Path, patches: Patchset) -> None:
    before = snapshot(tree)
    apply(tree, patches, check=True)
    assert snapshot(tree) == before
    apply(tree, patches)
    after = snapshot(tree)
    assert b"line_12_patched" in after["kernel/time/hrtimer.c"]
    assert b"sched_hook" in after["kernel/sched/core.c"]
    assert after["lib/queue.c"] == b"int queue;\n"
    apply(tree, patches)
    apply(tree, patches, reverse=True, check=True)
    assert snapshot(tree) == after
    apply(tree, patches, reverse=True)
    assert snapshot(tree) == before


def break_core(tree: Path, _: Patchset) -> None:
    (tree / "kernel/sched/core.c").write_text("int x;\n")


def put_back_hrtimer(tree: Path, patches: Patchset) -> None:
    apply(tree, patches)
    (tree / "kernel/time/hrtimer.c").write_text(HRTIMER)


@pytest.mark.parametrize(("damage", "complaint"), [
    (break_core, r"(?s)0002-sched-change-the-scheduler\.patch .*kernel/sched/core\.c"),
    (put_back_hrtimer, r"(?s)new-files\.patch does not fit .*lib/queue\.c,.which already exists"),
])
@pytest.mark.parametrize("way", ["plain", "commit", "reverse"])
def test_what_does_not_fit_is_named_and_changes_nothing(
    tree: Path, patches: Patchset, damage: Callable[[Path, Patchset], None], complaint: str,
    way: str,
) -> None:
    damage(tree, patches)
    before = snapshot(tree)
    with pytest.raises(LabError, match="" if way == "reverse" else complaint):
        apply(tree, patches, reverse=way == "reverse", commit=way == "commit")
    assert snapshot(tree) == before


def test_a_failed_write_is_undone(
    tree: Path, patches: Patchset, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, move, calls = snapshot(tree), os.replace, []

    def failing(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        move(source, target)

    contents = patchset.compute(tree, patches)
    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(OSError, match="No space"):
        patchset.write_all(tree, contents)
    assert snapshot(tree) == before


def test_sync_follows_the_patch_set_and_writes_only_what_changed(
    tree: Path, patches: Patchset, tmp_path: Path
) -> None:
    copy = make_tree(tmp_path / "copy")
    patchset.sync(tree, copy, patches)
    (patches.new_files / "lib/queue.c").write_text("int other;\n")
    assert patchset.sync(tree, copy, patches) == ["lib/queue.c"]
    (patches.new_files / "lib/queue.c").rename(patches.new_files / "lib/heap.c")
    assert patchset.sync(tree, copy, replace(patches, limit=1)) == [
        "kernel/sched/core.c", "lib/queue.c", "lib/heap.c"]
    assert not (copy / "lib/queue.c").exists()
    assert "line_12_patched" in (copy / "kernel/time/hrtimer.c").read_text()


def test_refresh_writes_back_what_was_edited_and_no_other_byte(
    tree: Path, patches: Patchset
) -> None:
    apply(tree, patches, commit=True)
    before = snapshot(patches.patches)
    commands.refresh(tree, patches, BASE)
    assert snapshot(patches.patches) == before
    (tree / "lib/queue.c").write_text("int better_queue;\n")
    (tree / "lib/heap.c").write_text("int heap;\n")
    core = tree / "kernel/sched/core.c"
    core.write_text(core.read_text().replace("sched_30", "sched_30_patched"))
    git(tree, "add", "lib")
    with pytest.raises(LabError, match="changes that are not committed"):
        commands.refresh(tree, patches, BASE)
    git(tree, "commit", "-qam", "sched: third")
    commands.refresh(tree, patches, BASE)
    assert snapshot(patches.new_files) == {
        "lib/heap.c": b"int heap;\n", "lib/queue.c": b"int better_queue;\n"}
    after = snapshot(patches.patches)
    third = after.pop("0003-sched-third.patch").decode()
    assert after == before
    assert third.startswith("Subject: sched: third\n\n\n---\ndiff --git a/kernel/sched/core.c ")
    git(tree, "reset", "-q", "--hard", "HEAD~2")
    commands.refresh(tree, patches, BASE)
    assert list(snapshot(patches.patches)) == ["0001-timer-change-a-line.patch"]


def test_refresh_refuses_what_it_cannot_write(tree: Path, patches: Patchset) -> None:
    with pytest.raises(LabError, match="not a git work tree"):
        commands.refresh(patches.patches, patches, BASE)
    apply(tree, patches, commit=True)
    with pytest.raises(LabError, match="no patches or no new files after HEAD"):
        commands.refresh(tree, patches, "HEAD")
    git(tree, "commit", "-q", "--allow-empty", "--fixup=HEAD")
    with pytest.raises(LabError, match="fixup! sched: .*: first git rebase"):
        commands.refresh(tree, patches, BASE)


def test_series_applies_with_git_am(tree: Path, patches: Patchset) -> None:
    with pytest.raises(LabError, match=r"first set user\.name and user\.email"):
        commands.mails(patches, signoff=True)
    git(tree, "config", "--global", "user.name", "A B")
    git(tree, "config", "--global", "user.email", "a@b")
    cover, *mails = commands.mails(patches, signoff=True).values()
    assert "[PATCH 0/3]" in cover
    git(tree, "am", "-q", text="".join(mails))
    apply(tree, patches, reverse=True, check=True)
    assert git(tree, "log", "--format=%s|%(trailers:separator=)", "-3").splitlines() == [
        f"{subject}|Signed-off-by: A B <a@b>" for subject in (
            "sched: change the scheduler", "timer: change a line",
            "timershield: add the new files")]


@pytest.mark.parametrize(("command", "complaint"), [
    ("apply", "this is Linux 6.1.7; there are patches for 6.12"),
    ("refresh", "this is Linux 6.1.7; there are patches for 6.12"),
    ("series", "is not an empty directory"),
])
def test_an_error_is_one_line(
    tree: Path, capsys: pytest.CaptureFixture[str], command: str, complaint: str
) -> None:
    (tree / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 7\n")
    assert commands.main(command, [str(tree)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"kernel/{command}: {tree}")
    assert complaint in error
    assert error.count("\n") == 1
