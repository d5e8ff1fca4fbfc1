# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that end when the lab does not need them any more, or is itself ended."""

import contextlib
import errno
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def running(
    command: Sequence[str], cwd: Path | str | None = None, env: Mapping[str, str] | None = None,
    stdin: int | None = None, stdout: int | None = None, stderr: int | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that does not outlive the block, nor this process, whatever happens.

    What it has started itself does not outlive the block either.
    """
    if shutil.which(command[0]) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command[0])
    if shutil.which("setpriv"):
        command = ["setpriv", "--pdeathsig", "KILL", *command]
    with subprocess.Popen(command, start_new_session=True, cwd=cwd, env=env, stdin=stdin,
                          stdout=stdout, stderr=stderr) as process:
        try:
            yield process
        finally:
            _kill_group(process)
            process.wait()


def run(
    command: Sequence[str], cwd: Path | str | None = None, timeout: float | None = None,
    env: Mapping[str, str] | None = None, stderr: int = subprocess.STDOUT,
) -> subprocess.CompletedProcess[str]:
    """Run ``command`` to its end and return what it prints.

    ``stderr``: with the rest, or by itself (``subprocess.PIPE``).
    """
    with running(command, cwd, env, subprocess.DEVNULL, subprocess.PIPE, stderr) as process:
        out, errors = process.communicate(timeout=timeout)
    return subprocess.CompletedProcess(command, process.returncode, out.decode(errors="replace"),
                                       (errors or b"").decode(errors="replace"))
