# SPDX-License-Identifier: GPL-2.0-or-later
"""The defects that tests have to notice: that they still fit, and what their verdicts say."""

import re
import shutil
from concurrent.futures import Future
from pathlib import Path

import pytest

from kernel.tools import patchset
from kernel.tools.patchset import Patchset
from lab.boot.qemu import End
from lab.errors import LabError
from lab.paths import DEFECTS, TESTS
from lab.runner import defects
from lab.runner.defects import Defect, Result, Seen
from lab.runner.suites import Suite
from lab.unit_tests.linux_tree import make_patchset, make_tree

RELEASE = Defect(1, "late", (("release", ("to_idle",)),))


def _hunks() -> dict[str, str]:
    """What the kernel's patches leave where they change a file, one after the other."""
    files: dict[str, str] = {}
    for patch in Patchset().patch_list():
        current = ""
        for line in patch.read_text().splitlines(keepends=True):
            if line.startswith("+++ b/"):
                current = line.removeprefix("+++ b/").split()[0]
            elif line.startswith(("diff ", "--- ", "@@")):
                continue
            elif current and line[0] in " +":
                files[current] = files.get(current, "") + line[1:]
    return files


def test_the_defects_fit_the_kernel(tmp_path: Path) -> None:
    """As far as can be told without Linux: new files whole, of others what patches change."""
    for name, text in _hunks().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    shutil.copytree(patchset.NEW_FILES, tmp_path, dirs_exist_ok=True)
    none = tmp_path / "none"
    found = patchset.compute(tmp_path, Patchset(none, none, on_top=(DEFECTS,)))
    assert b"timershield_defect" in (found["kernel/time/timershield.c"] or b"")


def test_patch_and_table_name_the_same_defects() -> None:
    patch = {int(n) for n in re.findall(r"timershield_defect [!=]= (\d+)", DEFECTS.read_text())}
    table = {m.number for m in defects.load()}
    assert patch == table


def test_the_named_tests_exist() -> None:
    sources = "".join(p.read_text() for p in TESTS.rglob("*.c"))
    for defect in defects.load():
        for _, names in defect.suites:
            assert [n for n in names if not re.search(rf"\b{n}\b", sources)] == []


def test_a_defect_that_does_not_fit_is_named(tmp_path: Path) -> None:
    tree, patches = make_tree(tmp_path / "linux"), make_patchset(tmp_path / "shield")
    stale = tmp_path / "stale.patch"
    stale.write_text("--- a/lib/queue.c\n+++ b/lib/queue.c\n@@ -1 +1 @@\n-int q;\n+int r;\n")
    with pytest.raises(LabError, match=r"(?s)stale\.patch .*lib/queue\.c.*FAILED"):
        patchset.compute(tree, Patchset(patches.new_files, patches.patches, on_top=(stale,)))


def test_a_defect_goes_on_top_of_new_and_of_patched_files(tmp_path: Path) -> None:
    tree, patches = make_tree(tmp_path / "linux"), make_patchset(tmp_path / "shield")
    defect = tmp_path / "defect.patch"
    defect.write_text(
        "--- a/lib/queue.c\n+++ b/lib/queue.c\n@@ -1 +1 @@\n-int queue;\n+int defect;\n"
        "--- a/kernel/time/hrtimer.c\n+++ b/kernel/time/hrtimer.c\n@@ -12,3 +12,3 @@\n"
        " int line_11;\n-int line_12_patched;\n+int line_12_defect;\n int line_13;\n")
    found = patchset.compute(tree, Patchset(patches.new_files, patches.patches, on_top=(defect,)))
    assert found["lib/queue.c"] == b"int defect;\n"
    assert b"line_12_defect" in (found["kernel/time/hrtimer.c"] or b"")
    assert b"sched_hook" in (found["kernel/sched/core.c"] or b"")


@pytest.mark.parametrize(("entry", "complaint"), [
    ("number = 1\nwhat = 'a'\nsuites = { none = [] }", "defect 1: there is no suite 'none'"),
    ("number = 1\nwhat = 'a'", "defect 1: suites is missing"),
    ("number = 1\ntitle = 'a'", "defect 1: there is no key 'title'"),
    ("number = 1\nwhat = 'a'\nsuites = { mask = [] }\nends = 'no'", "ends must be hangs"),
])
def test_a_wrong_table_is_told(tmp_path: Path, entry: str, complaint: str) -> None:
    table = tmp_path / "defects.toml"
    table.write_text(f"[[defect]]\n{entry}\n")
    with pytest.raises(LabError, match=re.escape(complaint)):
        defects.load(table)


def test_only_what_there_is_can_be_chosen() -> None:
    assert defects.chosen([RELEASE], [1]) == [RELEASE]
    with pytest.raises(LabError, match="there is no defect 9: there are 1"):
        defects.chosen([RELEASE], [1, 9])


def test_without_a_defect_everything_runs_that_has_to_notice_one() -> None:
    other = Defect(2, "early", (("release", ("to_a_middle_level", "to_idle")), ("mask", ("a",))))
    whole = Defect(3, "never", (("mask", ()),))
    assert defects.without_defect([RELEASE, other, whole]) == (
        ("release", ("to_idle", "to_a_middle_level")), ("mask", ()))


def test_named_tests_run_alone_where_that_is_possible() -> None:
    named = defects.with_defect(Suite("a", append="b"), 3, ("c",))
    assert (named.args, named.append) == (("c",), "b timershield_defect=3")
    assert defects.with_defect(Suite("a", args=("--seed", "1")), 3, ("c",)).args == ("--seed", "1")


@pytest.mark.parametrize(("failed", "failure", "good"), [
    (["to_idle"], "", True),
    ([], "", False),
    (["another"], "", False),
    (["to_idle"], "the guest hangs: nothing was heard of it for 60 s", False),
])
def test_every_named_test_has_to_notice(failed: list[str], failure: str, good: bool) -> None:
    result = Result({"release": Seen(12, failed)}, failure)
    assert defects.verdict(RELEASE, result)[0] == good


@pytest.mark.parametrize(("ends", "failure", "good"), [
    ("hangs", "the guest hangs: nothing was heard of it for 60 s", True),
    ("hangs", "the kernel reported something wrong", False),
    ("hangs", "", False),
    ("dies", "the kernel reported something wrong", True),
    ("dies", "the guest hangs: nothing was heard of it for 60 s", False),
    ("dies", "", False),
])
def test_a_guest_has_to_end_as_told(ends: str, failure: str, good: bool) -> None:
    defect = Defect(1, "late", (("release", ()),), ends=ends)
    end = End.HANGS if "hangs" in failure else End.DIES if failure else End.DONE
    assert defects.verdict(defect, Result({"release": Seen()}, failure, end))[0] == good


def test_many_failed_tests_are_counted() -> None:
    seen = Seen(12, ["a", "b", "c", "d"])
    assert defects.verdict(Defect(1, "late", (("release", ()),)), Result({"release": seen})) == (
        True, "seen by release 4 of 12")


def test_a_guest_that_is_to_hang_gets_longer_where_all_is_slow() -> None:
    hangs = Defect(1, "late", (("release", ()),), ends="hangs")
    assert defects.patience(RELEASE, {}) == defects.PATIENCE
    clean: Future[Result] = Future()
    clean.set_result(Result(seconds=100))
    assert defects.patience(hangs, {"release": clean}) == 100 * defects.TIMES
    clean = Future()
    clean.set_result(Result(seconds=1))
    assert defects.patience(hangs, {"release": clean}) == defects.SHORT_PATIENCE


def test_without_a_defect_all_has_to_pass() -> None:
    assert defects.clean_verdict("mask", Result({"mask": Seen(3)})) == (True, "3 passed")
    assert not defects.clean_verdict("mask", Result({"mask": Seen(3, ["a"])}))[0]
    assert not defects.clean_verdict("mask", Result({"mask": Seen(3)}, "the guest hangs"))[0]
