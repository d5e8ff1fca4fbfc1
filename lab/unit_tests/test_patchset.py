# SPDX-License-Identifier: GPL-2.0-or-later
import argparse
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kernel.tools import apply, git, patchset, refresh, series
from kernel.tools.patchset import Patchset
from lab.errors import LabError
from lab.unit_tests.linux_tree import HRTIMER, make_patchset, make_tree, snapshot


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "linux")


@pytest.fixture
def patches(tmp_path: Path) -> Patchset:
    return make_patchset(tmp_path / "shield")


def do_apply(tree: Path, patches: Patchset, **options: bool) -> None:
    defaults = {"git": False, "check": False, "reverse": False}
    apply.run(argparse.Namespace(tree=tree, **{**defaults, **options}), patches)


def commit_everything(tree: Path) -> None:
    environment = {**os.environ, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
                   "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "linux"]):
        subprocess.run(["git", *command], cwd=tree, check=True, env=environment)


def test_apply_writes_patches_and_new_files(tree: Path, patches: Patchset) -> None:
    do_apply(tree, patches)
    assert "line_12_patched" in (tree / "kernel/time/hrtimer.c").read_text()
    assert "sched_hook" in (tree / "kernel/sched/core.c").read_text()
    assert (tree / "lib/queue.c").read_text() == "int queue;\n"


def test_apply_twice_changes_nothing(
    tree: Path, patches: Patchset, capsys: pytest.CaptureFixture[str]
) -> None:
    do_apply(tree, patches)
    before = snapshot(tree)
    do_apply(tree, patches)
    assert snapshot(tree) == before
    assert "already" in capsys.readouterr().out


def test_reverse_gives_the_tree_back(tree: Path, patches: Patchset) -> None:
    before = snapshot(tree)
    do_apply(tree, patches)
    do_apply(tree, patches, reverse=True)
    assert snapshot(tree) == before


def test_reverse_check_takes_nothing_off(
    tree: Path, patches: Patchset, capsys: pytest.CaptureFixture[str]
) -> None:
    do_apply(tree, patches)
    before = snapshot(tree)
    do_apply(tree, patches, reverse=True, check=True)
    assert "2 patches and 1 new files can be taken off" in capsys.readouterr().out
    assert snapshot(tree) == before


def test_git_does_not_go_with_reverse(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        apply.main([str(tree), "--git", "--reverse"])
    assert "not allowed with argument" in capsys.readouterr().err


@pytest.mark.parametrize("main", [apply.main, refresh.main, series.main])
def test_what_the_system_refuses_is_one_line(
    main: Callable[[list[str]], int], tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_: object) -> None:
        raise OSError(13, "Permission denied", "x")

    monkeypatch.setattr(patchset, "linux_version", refused)
    monkeypatch.setattr(patchset, "write_file", refused)
    assert main([str(tmp_path / "x")]) == 1
    assert capsys.readouterr().err == (
        f"kernel/{main.__module__.split('.')[-1]}: [Errno 13] Permission denied: 'x'\n")


def test_series_needs_a_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "passwd"
    file.write_text("root\n")
    assert series.main([str(file)]) == 1
    assert capsys.readouterr().err == f"kernel/series: {file} is no directory\n"


def test_misfit_names_patch_and_file_and_leaves_the_tree(tree: Path, patches: Patchset) -> None:
    core = tree / "kernel/sched/core.c"
    core.write_text(core.read_text().replace("sched_4", "sched_four"))
    before = snapshot(tree)
    with pytest.raises(LabError, match=r"0002-change-the-scheduler\.patch.*kernel/sched/core\.c"):
        do_apply(tree, patches)
    assert snapshot(tree) == before


def test_missing_file_is_a_misfit(tree: Path, patches: Patchset) -> None:
    (tree / "kernel/sched/core.c").unlink()
    with pytest.raises(LabError, match=r"0002-.*kernel/sched/core\.c"):
        do_apply(tree, patches)


def test_half_applied_tree_is_refused(tree: Path, patches: Patchset) -> None:
    do_apply(tree, patches)
    (tree / "kernel/time/hrtimer.c").write_text(HRTIMER)
    before = snapshot(tree)
    with pytest.raises(LabError, match=r"lib/queue\.c already"):
        do_apply(tree, patches)
    assert snapshot(tree) == before


def test_other_versions_are_refused(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 7\n")
    before = snapshot(tree)
    assert apply.main([str(tree)]) == 1
    assert "this is Linux 6.1.7; there are patches for 6.12" in capsys.readouterr().err
    assert snapshot(tree) == before


def test_not_a_linux_tree(tmp_path: Path, patches: Patchset) -> None:
    with pytest.raises(LabError, match="not a Linux source tree"):
        do_apply(tmp_path, patches)


def test_empty_patch_set_applies(tree: Path, tmp_path: Path) -> None:
    before = snapshot(tree)
    do_apply(tree, Patchset(tmp_path / "no-src", tmp_path / "no-patches"))
    assert snapshot(tree) == before


def test_failed_write_is_undone(
    tree: Path, patches: Patchset, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(tree)
    write, calls = patchset.write_file, []

    def failing(target: Path, data: bytes, mode: int = 0o644) -> None:
        calls.append(target)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        write(target, data, mode)

    contents = patchset.compute(tree, patches)
    monkeypatch.setattr(patchset, "write_file", failing)
    with pytest.raises(OSError, match="No space"):
        patchset.write_all(tree, contents)
    assert snapshot(tree) == before


def test_what_cannot_be_put_back_is_named_and_the_rest_is_put_back(
    tree: Path, patches: Patchset, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(tree)
    replace, calls = os.replace, []

    def failing(source: Path, target: Path) -> None:
        calls.append(target.name)
        if len(calls) in (3, 4):
            raise OSError(28, "No space left on device")
        replace(source, target)

    contents = patchset.compute(tree, patches)
    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(LabError, match=r"(?s)No space.*not be put back:.*hrtimer\.c: No space"):
        patchset.write_all(tree, contents)
    after = snapshot(tree)
    assert calls == ["core.c", "hrtimer.c", "queue.c", "hrtimer.c", "core.c"]
    assert {p for p in after if after[p] != before.get(p)} == {"kernel/time/hrtimer.c"}


def test_sync_rewrites_only_what_changed(tree: Path, patches: Patchset, tmp_path: Path) -> None:
    copy = make_tree(tmp_path / "copy")
    patchset.sync(tree, copy, patches)
    stamps = {p: (copy / p).stat().st_mtime_ns for p in snapshot(copy)}
    (patches.new_files / "lib/queue.c").write_text("int other;\n")
    assert patchset.sync(tree, copy, patches) == ["lib/queue.c"]
    stamps.pop(patchset.MANIFEST)
    changed = [p for p, t in stamps.items() if (copy / p).stat().st_mtime_ns != t]
    assert changed == ["lib/queue.c"]


def test_sync_takes_back_what_a_dropped_patch_did(
    tree: Path, patches: Patchset, tmp_path: Path
) -> None:
    copy = make_tree(tmp_path / "copy")
    patchset.sync(tree, copy, patches)
    (patches.patches / "0001-change-a-line.patch").unlink()
    (patches.new_files / "lib/queue.c").unlink()
    patchset.sync(tree, copy, patches)
    assert (copy / "kernel/time/hrtimer.c").read_text() == HRTIMER
    assert not (copy / "lib/queue.c").exists()
    assert "sched_hook" in (copy / "kernel/sched/core.c").read_text()


def test_a_limit_leaves_out_the_new_files_of_later_patches(tree: Path, patches: Patchset) -> None:
    before = snapshot(tree)
    add_patch_of_a_new_file(patches)
    for limit, new in enumerate([set(), {"lib/queue.c"}, {"lib/queue.c"},
                                 {"lib/queue.c", "lib/heap.c"}]):
        patchset.sync(make_tree(tree.parent / str(limit)), tree, replace(patches, limit=limit))
        assert set(snapshot(tree)) - set(before) - {patchset.MANIFEST} == new


def add_patch_of_a_new_file(patches: Patchset) -> None:
    (patches.new_files / "lib/heap.c").write_text("int heap;\n\nint of;\n")
    (patches.patches / "0060-add-a-heap.patch").write_text(
        "Subject: lib: add a heap\n\nNew-file: lib/heap.c\n---\n")


@pytest.mark.parametrize(("new", "named", "complaint"), [
    ("lib/heap.c", "", r"lib/heap\.c: no patch in .*must say 'New-file: lib/heap\.c'"),
    ("", "lib/heap.c", r"lib/heap\.c: \S+0003-x\.patch names it, but it is not in "),
    ("", "lib/queue.c", r"queue\.c: 0001-change-a-line\.patch and 0003-x\.patch both name it"),
])
def test_every_new_file_is_named_once(
    tree: Path, patches: Patchset, new: str, named: str, complaint: str
) -> None:
    if new:
        (patches.new_files / new).write_text("int x;\n")
    (patches.patches / "0003-x.patch").write_text(f"Subject: x\n\nNew-file: {named}\n---\n"
                                                  if named else "Subject: x\n\n---\n")
    before = snapshot(tree)
    for command in (lambda: do_apply(tree, patches), lambda: series.mails(patches)):
        with pytest.raises(LabError, match=complaint):
            command()
    assert snapshot(tree) == before


def test_both_versions_of_linux_get_the_same_new_files() -> None:
    for linux in patchset.versions():
        patches = patchset.of(linux)
        assert patches.new_file_list() == patches.stored_files()


def commit_edit(tree: Path, file: str, before: str, after: str, *arguments: str) -> None:
    path = tree / file
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))
    git.git(tree, "commit", "-q", "-a", *arguments, environment=git.identity(tree))


def rebase(tree: Path, editor: str) -> None:
    """Rebase what kernel/apply committed, with ``editor`` for the list of what to do."""
    git.git(tree, "rebase", "-q", "-i", "--autosquash", git.BASE_TAG,
            environment={**git.identity(tree), "GIT_SEQUENCE_EDITOR": editor})


@pytest.fixture
def applied(tree: Path, patches: Patchset) -> Path:
    """A git tree with the patches, the second of which does not follow the first's number."""
    (patches.patches / "0002-change-the-scheduler.patch").rename(
        patches.patches / "0050-another-name.patch")
    commit_everything(tree)
    do_apply(tree, patches, git=True)
    return tree


def test_refresh_without_an_edit_changes_no_byte(tree: Path, patches: Patchset) -> None:
    add_patch_of_a_new_file(patches)
    first = patches.patches / "0001-change-a-line.patch"
    (patches.new_files / "lib/a.c").write_text("int a;\n")
    first.write_text(first.read_text().replace("queue.c\n", "queue.c\nNew-file: lib/a.c\n"))
    commit_everything(tree)
    do_apply(tree, patches, git=True)
    before = snapshot(patches.patches.parent)
    assert refresh.refresh_git(tree, git.BASE_TAG, patches) == (3, 3)
    assert snapshot(patches.patches.parent) == before


def test_a_commit_has_the_new_files_of_its_patch(applied: Path) -> None:
    changes = git.git(applied, "log", "--name-status", "--format=%s", git.BASE_TAG + "..")
    assert changes.split() == [
        *"timershield: change the scheduler M kernel/sched/core.c".split(),
        *"timershield: change a line M kernel/time/hrtimer.c A lib/queue.c".split()]


def commit_file(tree: Path, path: str, text: str, message: str) -> None:
    (tree / path).parent.mkdir(exist_ok=True)
    (tree / path).write_text(text)
    git.git(tree, "add", path)
    git.git(tree, "commit", "-q", "-m", message, environment=git.identity(tree))


def test_refresh_names_a_new_file_where_a_commit_adds_it(
    applied: Path, patches: Patchset
) -> None:
    before = snapshot(patches.patches)
    commit_file(applied, "lib/heap.c", "int heap;\n", "lib: add a heap\n\nWhy.")
    commit_file(applied, "lib/heap.c", "int better_heap;\n", "lib: make it better")
    assert refresh.refresh_git(applied, git.BASE_TAG, patches) == (3, 2)
    assert (patches.new_files / "lib/heap.c").read_text() == "int better_heap;\n"
    assert snapshot(patches.patches) == {**before, "0051-add-a-heap.patch": (
        b"Subject: lib: add a heap\n\nWhy.\n\nNew-file: lib/heap.c\n---\n")}


def test_refresh_follows_a_new_file_to_another_commit(applied: Path, patches: Patchset) -> None:
    git.git(applied, "rm", "-q", "lib/queue.c")
    git.git(applied, "commit", "-q", "--fixup=HEAD~1", environment=git.identity(applied))
    rebase(applied, "true")
    commit_file(applied, "lib/queue.c", "int queue;\n", "lib: add a queue")
    assert refresh.refresh_git(applied, git.BASE_TAG, patches) == (3, 1)
    first, _, last = snapshot(patches.patches).values()
    assert first.startswith(b"Subject: timershield: change a line\n\nBecause.\n---\n")
    assert last == b"Subject: lib: add a queue\n\nNew-file: lib/queue.c\n---\n"


def test_refresh_removes_a_new_file_that_is_no_more(applied: Path, patches: Patchset) -> None:
    commit_file(applied, "lib/heap.c", "int heap;\n", "lib: add a heap")
    git.git(applied, "rm", "-q", "lib/queue.c")
    git.git(applied, "commit", "-q", "--fixup=:/change a line", environment=git.identity(applied))
    rebase(applied, "true")
    refresh.refresh_git(applied, git.BASE_TAG, patches)
    assert patches.new_file_list() == ["lib/heap.c"]


def test_an_amended_commit_keeps_its_name(applied: Path, patches: Patchset) -> None:
    before = snapshot(patches.patches)
    commit_edit(applied, "kernel/time/hrtimer.c", "line_12_patched", "line_12_better",
                "--fixup=HEAD~1")
    with pytest.raises(LabError, match=r"commit 'fixup! .*': first git rebase -i --autosquash"):
        refresh.refresh_git(applied, git.BASE_TAG, patches)
    rebase(applied, "true")
    refresh.refresh_git(applied, git.BASE_TAG, patches)
    after = snapshot(patches.patches)
    assert list(after) == list(before) == ["0001-change-a-line.patch", "0050-another-name.patch"]
    changed = after["0001-change-a-line.patch"].decode()
    assert "+int line_12_better;" in changed
    assert git.TRAILER not in changed
    assert after["0050-another-name.patch"] == before["0050-another-name.patch"]


def test_a_new_commit_gets_the_next_free_number(applied: Path, patches: Patchset) -> None:
    before = snapshot(patches.patches)
    commit_edit(applied, "kernel/time/hrtimer.c", "line_30", "line_30_patched",
                "-m", "timershield: one more")
    refresh.refresh_git(applied, git.BASE_TAG, patches)
    after = snapshot(patches.patches)
    assert list(after) == ["0001-change-a-line.patch", "0050-another-name.patch",
                           "0051-one-more.patch"]
    assert before.items() <= after.items()


def test_patches_that_do_not_fit_by_their_names_are_refused(
    applied: Path, patches: Patchset
) -> None:
    before = snapshot(patches.patches)
    git.git(applied, "reset", "-q", "--hard", "HEAD~1")
    commit_edit(applied, "kernel/sched/core.c", "sched_9;", "sched_nine;", "-m", "needed by 0050")
    commit_edit(applied, "kernel/sched/core.c", "sched_nine", "sched_new",
                "-m", f"x\n\n{git.TRAILER}0050-another-name.patch")
    with pytest.raises(LabError, match=r"(?s)do not lead to HEAD.*0050-another-name\.patch does"):
        refresh.refresh_git(applied, git.BASE_TAG, patches)
    assert snapshot(patches.patches) == before


def test_names_out_of_order_are_refused(applied: Path, patches: Patchset) -> None:
    before = snapshot(patches.patches)
    rebase(applied, "sed -i '1{h;d};2G'")
    with pytest.raises(LabError, match=r"0001-\S+ comes after that of 0050-"):
        refresh.refresh_git(applied, git.BASE_TAG, patches)
    assert snapshot(patches.patches) == before


@pytest.mark.parametrize(("line", "complaint"), [
    ("0050-another-name.patch", "two commits say"),
    ("../0060-x.patch", "must look like"),
])
def test_bad_names_are_refused(
    applied: Path, patches: Patchset, line: str, complaint: str
) -> None:
    commit_edit(applied, "kernel/sched/core.c", "sched_9", "sched_nine",
                "-m", f"x\n\n{git.TRAILER}{line}")
    with pytest.raises(LabError, match=complaint):
        refresh.refresh_git(applied, git.BASE_TAG, patches)


def test_an_empty_series_is_refused(applied: Path, patches: Patchset) -> None:
    before = snapshot(patches.patches.parent)
    with pytest.raises(LabError, match="has no patch after HEAD"):
        refresh.refresh_git(applied, "HEAD", patches)
    with pytest.raises(LabError, match="has no new file after HEAD~1"):
        refresh.refresh_git(applied, "HEAD~1", patches)
    assert snapshot(patches.patches.parent) == before


def test_refresh_takes_edits_from_commits(tree: Path, patches: Patchset) -> None:
    commit_everything(tree)
    do_apply(tree, patches, git=True)
    (tree / "lib/queue.c").write_text("int better_queue;\n")
    core = tree / "kernel/sched/core.c"
    core.write_text(core.read_text().replace("sched_30", "sched_30_patched"))
    environment = git.identity(tree)
    git.git(tree, "commit", "-q", "-a", "-m", "timershield: third\n\nWhy.", environment=environment)
    assert refresh.refresh_git(tree, git.BASE_TAG, patches) == (3, 1)
    assert (patches.new_files / "lib/queue.c").read_text() == "int better_queue;\n"
    third = (patches.patches / "0003-third.patch").read_text()
    assert "sched_30_patched" in third
    assert "better_queue" not in third
    assert third.startswith("Subject: timershield: third\n\nWhy.\n---\n")


def test_refresh_refuses_uncommitted_changes(tree: Path, patches: Patchset) -> None:
    commit_everything(tree)
    do_apply(tree, patches, git=True)
    (tree / "lib/queue.c").write_text("int x;\n")
    with pytest.raises(LabError, match="not committed"):
        refresh.refresh_git(tree, git.BASE_TAG, patches)


def test_refresh_needs_a_git_tree(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refresh.main([str(tree)]) == 1
    assert "is no git tree: kernel/apply --git prepares one" in capsys.readouterr().err


def test_series_applies_with_git_am(tree: Path, patches: Patchset, tmp_path: Path) -> None:
    commit_everything(tree)
    add_patch_of_a_new_file(patches)
    mails = series.mails(patches)
    assert not any("New-file:" in text for text in mails.values())
    out = tmp_path / "out"
    out.mkdir()
    for name, text in mails.items():
        (out / name).write_text(text)
    names = sorted(str(p) for p in out.glob("*.patch"))
    assert len(names) == 3
    git.git(tree, "am", "-q", *names, environment=git.identity(tree))
    assert patchset.is_applied(tree, patches)
    subjects = git.git(tree, "log", "--format=%s", "-3").splitlines()
    assert subjects == ["lib: add a heap", "timershield: change the scheduler",
                        "timershield: change a line"]
