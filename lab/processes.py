# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that end when the lab does not need them any more, or is itself ended."""

import contextlib
import errno
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def _signals_wait() -> Iterator[None]:
    """Signals are handled after the block: amid Popen() they would lose the process that it starts.

    Python handles them in the main thread only.
    """
    came: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = {n: h for n in numbers if callable(h := signal.getsignal(n))
                and threading.current_thread() is threading.main_thread()}
    for number in handlers:
        signal.signal(number, lambda n, _: came.append(n))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for late in came:
            signal.raise_signal(late)


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
    process = None
    try:
        with _signals_wait():
            process = subprocess.Popen(command, start_new_session=True, cwd=cwd, env=env,
                                       stdin=stdin, stdout=stdout, stderr=stderr)
        yield process
    finally:
        if process is not None:
            _kill_group(process)
            with process:
                pass    # closes its pipes and waits for it


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
