# SPDX-License-Identifier: GPL-2.0-or-later
"""Nothing that the lab has started goes on without it."""

import contextlib
import functools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab import processes
from lab.paths import REPO

CHILDREN = "sleep 100 & echo $! > child; echo $$ > leader; wait"
LAB = f"""
import signal
import sys
from pathlib import Path
from lab import processes
from lab.commands import cli
from lab.commands import kernel as verb

def hang(_):
    try:
        processes.run(["sh", "-c", "{CHILDREN}"], sys.argv[1])
    finally:
        Path(sys.argv[1], "put-back").touch()

signal.signal(signal.SIGINT, signal.default_int_handler)    # a shell's & has it ignored
signal.signal(signal.SIGHUP, signal.SIG_DFL)                # and nohup that
verb.run = hang
sys.exit(cli.main(["kernel", "x"]))
"""


def gone(pid: int) -> bool:
    """Whether there is no such process, or only what is left of it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
    except (FileNotFoundError, ProcessLookupError):
        return True


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def pid(file: Path) -> int:
    assert within(20, lambda: file.exists() and file.read_text().endswith("\n"))
    return int(file.read_text())


@pytest.fixture
def lab(tmp_path: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """A lab that runs a program which has children."""
    with subprocess.Popen([sys.executable, "-c", LAB, str(tmp_path)], cwd=REPO) as process:
        pid(tmp_path / "leader")
        yield process
        process.kill()


@pytest.mark.parametrize(("number", "status"), [
    (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130),
])
def test_a_signal_ends_programs_and_has_everything_put_back(
    lab: "subprocess.Popen[bytes]", tmp_path: Path, number: int, status: int
) -> None:
    lab.send_signal(number)
    assert lab.wait(20) == status
    assert (tmp_path / "put-back").exists()
    for file in ("leader", "child"):
        assert within(10, functools.partial(gone, pid(tmp_path / file)))


def test_an_interrupt_while_a_program_starts_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> bytes:
        pid(tmp_path / "leader")
        signal.raise_signal(signal.SIGINT)
        return b""

    before = signal.signal(signal.SIGINT, signal.default_int_handler)   # a shell's & ignores it
    monkeypatch.setattr(os, "read", interrupted)    # where Popen waits for the program's start
    with pytest.raises(KeyboardInterrupt):
        processes.run(["sh", "-c", CHILDREN], tmp_path)
    monkeypatch.undo()
    signal.signal(signal.SIGINT, before)
    for file in ("leader", "child"):
        assert within(10, functools.partial(gone, pid(tmp_path / file)))


def test_a_lab_that_is_killed_takes_its_program_along(
    lab: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    lab.kill()
    lab.wait(20)
    assert within(10, lambda: gone(pid(tmp_path / "leader")))
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid(tmp_path / "child"), signal.SIGKILL)


def test_a_program_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        processes.run(["sh", "-c", CHILDREN], tmp_path, timeout=3)
    assert within(10, lambda: gone(pid(tmp_path / "child")))


def test_what_a_program_prints() -> None:
    both = ["sh", "-c", "echo out; echo err >&2; exit 3"]
    done = processes.run(both)
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\nerr\n", "")
    done = processes.run(both, stderr=subprocess.PIPE)
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")
