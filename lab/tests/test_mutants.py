# SPDX-License-Identifier: GPL-2.0-or-later
"""The defects that tests have to notice: that they still fit, and what their verdicts say."""

import re
from concurrent.futures import Future
from pathlib import Path

import pytest

from lab import mutants, patchset
from lab.errors import LabError
from lab.mutants import Mutant, Result, Seen
from lab.patchset import Patchset
from lab.paths import GUEST, MUTANTS, REPO
from lab.suites import Suite
from lab.tests.linux_tree import make_patchset, make_tree

RELEASE = Mutant(1, "late", (("release", ("to_idle",)),))


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
    found = patchset.compute(tmp_path, Patchset(patches=tmp_path / "none", on_top=(MUTANTS,)))
    assert "timershield_mutant" in found.files["kernel/time/hrtimer_shield.c"].decode()


def test_patch_and_tables_name_the_same_defects() -> None:
    patch = {int(n) for n in re.findall(r"timershield_mutant [!=]= (\d+)", MUTANTS.read_text())}
    table = {m.number for m in mutants.load()}
    told = re.findall(r"^\| (\d+) \|", (REPO / "docs/tests.md").read_text(), re.MULTILINE)
    assert patch == table == {int(n) for n in told}


def test_the_named_tests_exist() -> None:
    sources = "".join(p.read_text() for p in (GUEST / "tests").rglob("*.c"))
    for mutant in mutants.load():
        for _, names in mutant.suites:
            assert [n for n in names if not re.search(rf"\b{n}\b", sources)] == []


def test_a_defect_that_does_not_fit_is_named(tmp_path: Path) -> None:
    tree, patches = make_tree(tmp_path / "linux"), make_patchset(tmp_path / "shield")
    stale = tmp_path / "stale.patch"
    stale.write_text("--- a/lib/queue.c\n+++ b/lib/queue.c\n@@ -1 +1 @@\n-int q;\n+int r;\n")
    with pytest.raises(LabError, match=r"stale\.patch does not fit lib/queue\.c(.|\n)*FAILED"):
        patchset.compute(tree, Patchset(patches.new_files, patches.patches, on_top=(stale,)))


def test_a_defect_goes_on_top_of_new_and_of_patched_files(tmp_path: Path) -> None:
    tree, patches = make_tree(tmp_path / "linux"), make_patchset(tmp_path / "shield")
    defect = tmp_path / "defect.patch"
    defect.write_text(
        "--- a/lib/queue.c\n+++ b/lib/queue.c\n@@ -1 +1 @@\n-int queue;\n+int defect;\n"
        "--- a/kernel/time/hrtimer.c\n+++ b/kernel/time/hrtimer.c\n@@ -12,3 +12,3 @@\n"
        " int line_11;\n-int line_12_patched;\n+int line_12_defect;\n int line_13;\n")
    found = patchset.compute(tree, Patchset(patches.new_files, patches.patches, on_top=(defect,)))
    assert found.files["lib/queue.c"] == b"int defect;\n"
    assert b"line_12_defect" in found.files["kernel/time/hrtimer.c"]
    assert b"sched_hook" in found.files["kernel/sched/core.c"]


@pytest.mark.parametrize(("entry", "complaint"), [
    ("number = 1\ndefect = 'a'\nsuites = { none = [] }", "mutant 1: there is no suite 'none'"),
    ("number = 1\ndefect = 'a'", "mutant 1: suites is missing"),
    ("number = 1\nwhat = 'a'", "mutant 1: there is no key 'what'"),
    ("number = 1\ndefect = 'a'\nsuites = { mask = [] }\nends = 'no'", "ends must be hangs"),
])
def test_a_wrong_table_is_told(tmp_path: Path, entry: str, complaint: str) -> None:
    table = tmp_path / "mutants.toml"
    table.write_text(f"[[mutant]]\n{entry}\n")
    with pytest.raises(LabError, match=re.escape(complaint)):
        mutants.load(table)


def test_only_what_there_is_can_be_chosen() -> None:
    assert mutants.chosen([RELEASE], [1]) == [RELEASE]
    with pytest.raises(LabError, match="there is no mutant 9: there are 1"):
        mutants.chosen([RELEASE], [1, 9])


def test_without_a_defect_everything_runs_that_has_to_notice_one() -> None:
    other = Mutant(2, "early", (("release", ("to_a_middle_level", "to_idle")), ("mask", ("a",))))
    whole = Mutant(3, "never", (("mask", ()),))
    assert mutants.without_defect([RELEASE, other, whole]) == (
        ("release", ("to_idle", "to_a_middle_level")), ("mask", ()))


def test_named_tests_run_alone_where_that_is_possible() -> None:
    named = mutants.with_defect(Suite("a", append="b"), 3, ("c",))
    assert (named.args, named.append) == (("c",), "b timershield_mutant=3")
    assert mutants.with_defect(Suite("a", args=("--seed", "1")), 3, ("c",)).args == ("--seed", "1")


@pytest.mark.parametrize(("failed", "failure", "good"), [
    (["to_idle"], "", True),
    ([], "", False),
    (["another"], "", False),
    (["to_idle"], "the guest hangs: nothing was heard of it for 60 s", False),
])
def test_every_named_test_has_to_notice(failed: list[str], failure: str, good: bool) -> None:
    result = Result({"release": Seen(12, failed)}, failure)
    assert mutants.verdict(RELEASE, result)[0] == good


@pytest.mark.parametrize(("ends", "failure", "good"), [
    ("hangs", "the guest hangs: nothing was heard of it for 60 s", True),
    ("hangs", "the kernel reported something wrong", False),
    ("hangs", "", False),
    ("dies", "the kernel reported something wrong", True),
    ("dies", "the guest hangs: nothing was heard of it for 60 s", False),
    ("dies", "", False),
])
def test_a_guest_has_to_end_as_told(ends: str, failure: str, good: bool) -> None:
    mutant = Mutant(1, "late", (("release", ()),), ends=ends)
    assert mutants.verdict(mutant, Result({"release": Seen()}, failure))[0] == good


def test_many_failed_tests_are_counted() -> None:
    seen = Seen(12, ["a", "b", "c", "d"])
    assert mutants.verdict(Mutant(1, "late", (("release", ()),)), Result({"release": seen})) == (
        True, "seen by release 4 of 12")


def test_a_guest_that_is_to_hang_gets_longer_where_all_is_slow() -> None:
    hangs = Mutant(1, "late", (("release", ()),), ends="hangs")
    assert mutants.patience(RELEASE, {}) == mutants.PATIENCE
    clean: Future[Result] = Future()
    clean.set_result(Result(seconds=100))
    assert mutants.patience(hangs, {"release": clean}) == 100 * mutants.TIMES
    clean = Future()
    clean.set_result(Result(seconds=1))
    assert mutants.patience(hangs, {"release": clean}) == mutants.SHORT_PATIENCE


def test_without_a_defect_all_has_to_pass() -> None:
    assert mutants.clean_verdict("mask", Result({"mask": Seen(3)})) == (True, "3 passed")
    assert not mutants.clean_verdict("mask", Result({"mask": Seen(3, ["a"])}))[0]
    assert not mutants.clean_verdict("mask", Result({"mask": Seen(3)}, "the guest hangs"))[0]
