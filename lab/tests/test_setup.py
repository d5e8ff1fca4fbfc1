# SPDX-License-Identifier: GPL-2.0-or-later
"""lab/setup where there is no dpkg: it looks for what the packages bring."""

import shutil
import subprocess
from pathlib import Path

import pytest

from lab.kernels import DEBIAN_SOURCE
from lab.paths import REPO

TOOLS = ("sh", "sed", "sort", "fmt", "grep")
NEEDED = ("make", "gcc", "flex", "bison", "bc", "patch", "perl", "xz", "cpio", "ccache", "unshare",
          "python3", "qemu-system-x86_64", "x86_64-linux-gnu-gcc")


def stubs(directory: Path, *names: str) -> None:
    for name in names:
        (directory / name).write_text("#!/bin/sh\nexit 0\n")
        (directory / name).chmod(0o755)


def setup(directory: Path, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([str(REPO / "lab/setup"), *words], env={"PATH": str(directory), **more},
                          capture_output=True, text=True, check=False)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    for name in TOOLS:
        found = shutil.which(name)
        assert found is not None
        (tmp_path / name).symlink_to(found)
    stubs(tmp_path, *NEEDED)
    return tmp_path


def test_nothing_is_missing(programs: Path) -> None:
    done = setup(programs, "demo", KERNEL_SOURCE="/linux")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_is_missing_is_named_and_an_error(programs: Path) -> None:
    (programs / "flex").unlink()
    stubs(programs, "python3")
    (programs / "python3").write_text("#!/bin/sh\n[ \"$2\" != 'import numpy' ]\n")
    done = setup(programs, "demo", KERNEL_SOURCE="/linux")
    assert done.returncode == 1
    assert done.stderr.splitlines()[1:] == ["   flex python3-numpy"]


def test_the_kernel_is_missing_unless_it_is_named(programs: Path) -> None:
    done = setup(programs, "demo")
    assert (done.returncode == 0) == DEBIAN_SOURCE.exists()
    assert ("linux-source-6.12" in done.stderr) == (not DEBIAN_SOURCE.exists())
    assert ("KERNEL_SOURCE=" in done.stderr) == (not DEBIAN_SOURCE.exists())
