# SPDX-License-Identifier: GPL-2.0-or-later
"""What other tools test on this machine: linters, the queue, clockfix, the command."""

import subprocess
import sys
from pathlib import Path

import pytest

from experiments.measure import clockfix_bench
from kernel.tools import patchset
from lab import processes
from lab.kernels.kernels import locked, stock_tree
from lab.kernels.toolchain import meson_ready
from lab.paths import BUILD, DEFECTS, REPO
from lab.progress import Progress

SECONDS = 1200
TOOLS = f"TOOLS={REPO}/build/venv/bin/"


def call(*command: str | Path) -> None:
    """Run it to its end; pytest shows what it printed if it failed."""
    try:
        done = processes.run(list(map(str, command)), REPO, SECONDS)
    except subprocess.TimeoutExpired:
        pytest.fail(f"{command[0]} did not end within {SECONDS} s")
    print(done.stdout)
    assert done.returncode == 0


def meson(source: str, build: Path, *options: str) -> None:
    if not meson_ready(build, REPO / source):
        call("meson", "setup", *options, build, REPO / source)
    # "meson test" alone builds no more than it runs, and a test installs all
    call("meson", "compile", "-C", build)
    call("meson", "test", "-C", build, "--print-errorlogs")


def test_lint() -> None:
    call("make", "-s", "lint")


def test_queue() -> None:
    tree = stock_tree(Progress(), "7.3")
    with locked("queue-tests"):
        call("make", "-s", "-C", "kernel/tests", f"KERNEL_TREE={tree}",
             f"O={BUILD / 'queue-tests'}", "check")


def test_defects_of_the_queue() -> None:
    with locked("queue-tests"):
        call(sys.executable, "-m", "lab", "defects", "--queue")


def test_planted_defects_fit_the_kernel() -> None:
    """``lab/lab defects`` takes too long to run here; its patch must not go stale."""
    patchset.compute(stock_tree(Progress(), "7.3"), patchset.texts("7.3", DEFECTS))


def test_command() -> None:
    # not build/command, which the README has the user install
    meson("command", BUILD / "command-test", "-Dwerror=true", "-Db_sanitize=address,undefined")


def test_rust() -> None:
    # the rest is --offline, as where packages are built
    for crate in ("clockfix/rust", "clockfix/rust/tokio"):
        call("cargo", "fetch", "--manifest-path", f"{crate}/Cargo.toml")
    call("make", "-C", "clockfix/rust", TOOLS, "lint", "check", "check-tokio", "crate")


def test_python() -> None:
    call("make", "-C", "clockfix/python", TOOLS, "lint", "check")


def test_clockfix() -> None:
    meson("clockfix", clockfix_bench.DIRECTORY, "-Dtests=enabled")


@pytest.mark.nightly
@pytest.mark.parametrize("arch", ["arm64", "armhf", "riscv64"])
def test_clockfix_of(arch: str) -> None:
    """The tests run under qemu-user."""
    meson("clockfix", BUILD / f"clockfix-{arch}", "-Dtests=enabled",
          f"--cross-file={REPO}/clockfix/cross-{arch}.ini")


@pytest.mark.nightly
def test_clockfix_sanitized() -> None:
    call("clockfix/tests/sanitizers", clockfix_bench.DIRECTORY)
    for binding in ("rust", "python"):
        call("make", "-C", f"clockfix/{binding}", TOOLS, "check-sanitized")
