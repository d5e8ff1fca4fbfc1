# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the kernel trees come from, and what happens if there is nothing good to be had there."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.kernels import kernels
from lab.progress import Progress
from lab.unit_tests.linux_tree import TEXT, make_tree, snapshot


def not_linux(path: Path) -> None:
    path.mkdir()


def text(path: Path) -> None:
    path.write_text("no archive\n")


def broken(path: Path) -> None:
    subprocess.run(["tar", "-cJf", path, "-C", make_tree(path.with_name("good")).parent, "good"],
                   check=True)
    path.write_bytes(path.read_bytes()[:-40])


def later(path: Path) -> None:
    make_tree(path)
    (path / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 13\nSUBLEVEL = 0\n")


def later_archive(path: Path) -> None:
    later(path.with_name("later"))
    subprocess.run(["tar", "-cf", path, "-C", path.parent, "later"], check=True)


def device(path: Path) -> None:
    path.symlink_to("/dev/null")


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lab that has built kernels from a good tree."""
    directory = tmp_path / "builds"
    monkeypatch.setattr(kernels, "KERNEL_BUILDS", directory)
    monkeypatch.setenv("KERNEL_SOURCE", str(make_tree(tmp_path / "first")))
    stock = kernels.stock_tree(Progress())
    for name in ("src-timershield", "src-defects", "src-each"):
        kernels.link_copy(stock, stock.with_name(name), Progress())
    return stock.parent


@pytest.mark.parametrize(("name", "make", "complaint"), [
    ("empty", not_linux, "not a Linux source tree"),
    ("notes.txt", text, "cannot unpack .*notes.txt: "),
    ("broken.tar.xz", broken, "cannot unpack .*broken.tar.xz: "),
    ("tree", later, "tree: this is Linux 6.13.0"),
    ("linux.tar", later_archive, "linux.tar: this is Linux 6.13.0"),
    ("null", device, "null: neither a directory nor a file"),
])
def test_a_wrong_source_costs_nothing(
    builds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    name: str, make: Callable[[Path], None], complaint: str,
) -> None:
    before = snapshot(builds)
    make(tmp_path / name)
    monkeypatch.setenv("KERNEL_SOURCE", str(tmp_path / name))
    with pytest.raises(LabError, match=complaint) as raised:
        kernels.stock_tree(Progress())
    assert str(builds) not in str(raised.value)
    assert "KERNEL_SOURCE= must name a Linux 6.12 tree or tarball" in str(raised.value)
    assert snapshot(builds) == before
    assert not (builds / "src-stock.new").exists()


def test_another_source_replaces_all_trees(
    builds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = make_tree(tmp_path / "second")
    (second / "COPYING").write_text("new\n")
    monkeypatch.setenv("KERNEL_SOURCE", str(second))
    stock = kernels.stock_tree(Progress())
    assert (stock / "COPYING").read_text() == "new\n"
    assert [p.name for p in builds.glob("src-*")] == ["src-stock"]


def test_a_copy_that_fails_is_said_in_one_line(
    builds: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "all_kernels", list)
    stock = builds / "src-stock"
    broken = stock / "gone"
    monkeypatch.setattr(Path, "iterdir", lambda _: iter([broken]))
    with pytest.raises(LabError, match=r"cannot copy .*src-stock to .*src-x: cp: .*gone"):
        kernels.link_copy(stock, builds / "src-x", Progress())
    assert not (builds / "src-x.new").exists()


NEW_FILE = "--- /dev/null\n+++ b/lib/{}.c\n@@ -0,0 +1 @@\n+{}\n"
CHANGE = "--- a/kernel/{0}\n+++ b/kernel/{0}\n@@ -1,2 +1,2 @@\n-int line_0;\n+hook\n int line_1;\n"


def test_a_synced_tree_follows_the_patches_and_keeps_what_stays(tmp_path: Path) -> None:
    pristine, tree = make_tree(tmp_path / "pristine"), make_tree(tmp_path / "tree")
    patches = {"new": NEW_FILE.format("queue", "one"), "1": CHANGE.format("time/hrtimer.c"),
               "2": CHANGE.format("sched/core.c")}
    assert len(kernels.sync(pristine, tree, patches)) == 3
    patches["new"] = NEW_FILE.format("queue", "other")
    assert kernels.sync(pristine, tree, patches) == ["lib/queue.c"]
    patches = {"new": NEW_FILE.format("heap", "other"), "1": patches["1"]}
    assert sorted(kernels.sync(pristine, tree, patches)) == [
        "kernel/sched/core.c", "lib/heap.c", "lib/queue.c"]
    assert snapshot(tree) == snapshot(pristine) | {
        "kernel/time/hrtimer.c": TEXT.replace("int line_0;", "hook").encode(),
        "lib/heap.c": b"other\n", ".timershield": b"kernel/time/hrtimer.c\nlib/heap.c\n"}


def test_a_mrproper_that_fails_is_said_in_one_line(tmp_path: Path) -> None:
    origin = make_tree(tmp_path / "linux")
    (origin / ".config").touch()
    with pytest.raises(LabError, match=r"make mrproper in a copy of .*linux: make.*: .*mrproper"):
        kernels._unpack(origin, tmp_path / "copy")


def test_defects_do_not_change_what_a_debug_kernel_is_configured_as() -> None:
    debug = kernels.Kernel.parse("7.3/x86_64-preempt-debug")
    defects = kernels.Kernel.parse("7.3/x86_64-preempt-debug-defects")
    assert debug.fragments == defects.fragments
