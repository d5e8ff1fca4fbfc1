# SPDX-License-Identifier: GPL-2.0-or-later
"""lab/setup where there is no dpkg: it looks for what the packages bring."""

import shutil
import subprocess
from pathlib import Path

import pytest

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


def test_an_unknown_target_is_named(programs: Path) -> None:
    done = setup(programs, "demo", "foo")
    assert (done.returncode, done.stderr) == (2, "lab/setup: unknown target 'foo'\n")


def test_what_is_missing_is_named_and_an_error(programs: Path) -> None:
    (programs / "flex").unlink()
    stubs(programs, "python3")
    (programs / "python3").write_text("#!/bin/sh\n[ \"$2\" != 'import numpy' ]\n")
    done = setup(programs, "demo", KERNEL_SOURCE="/linux")
    assert done.returncode == 1
    assert done.stderr.splitlines()[1:] == ["   flex python3-numpy"]


def test_the_kernel_is_missing_unless_it_is_named(programs: Path) -> None:
    done = setup(programs, "demo")
    there = Path("/usr/src/linux-source-6.12.tar.xz").exists()
    assert (done.returncode == 0) == there
    assert ("linux-source-6.12" in done.stderr) == (not there)
    assert ("KERNEL_SOURCE=" in done.stderr) == (not there)


def test_a_held_lock_is_waited_for(programs: Path) -> None:
    """The first install and the first update fail, as on a machine that updates itself."""
    stubs(programs, "id", "dpkg", "dpkg-query", "sleep", "cat")
    (programs / "id").write_text("#!/bin/sh\necho 0\n")
    (programs / "dpkg").write_text("#!/bin/sh\necho amd64\n")
    (programs / "apt-get").write_text(f"""#!/bin/sh
[ "$1" = -s ] && {{ echo "Inst make (4.3)"; echo "Inst perl [5.36.0-7] (5.36.0-8)"; exit; }}
echo "$@" >> {programs}/calls
[ "$1" = update ] || {{ [ -e {programs}/updated ]; exit; }}
[ -e {programs}/once ] && {{ : > {programs}/updated; exit; }}
: > {programs}/once
echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1" >&2
exit 100
""")
    (programs / "apt-get").chmod(0o755)
    checked = setup(programs, "--check", "linux-7.3", "x86_64")
    upgrades = "it upgrades these installed packages: perl"
    _, command, *rest = checked.stderr.splitlines()
    assert (checked.returncode, rest) == (1, [upgrades])
    assert not (programs / "calls").exists()
    done = setup(programs, "linux-7.3", "x86_64")
    assert (done.returncode, done.stderr.splitlines()) == (0, [upgrades, upgrades])
    calls = (programs / "calls").read_text().splitlines()
    assert [c.split()[0] for c in calls] == ["install", "update", "update", "install"]
    assert command == f"  apt-get {calls[0]}"
    assert "-o DPkg::Lock::Timeout=600" in calls[0]
    assert " debian-archive-keyring " in calls[0]
    assert "linux-source" not in calls[0]
