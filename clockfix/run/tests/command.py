#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command line of clockfix-run: what it refuses, and what it says at the end.

usage: command.py CLOCKFIX-RUN SLEEPER STATIC-PROGRAM
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

failures: list[str] = []


def expect(command: Sequence[str], status: int, message: str, **environment: str) -> None:
    """Run it; it must end with that status and say that."""
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env=os.environ | environment)
    said = done.stdout + done.stderr
    if done.returncode != status or not re.search(message, said):
        failures.append(f"{' '.join(command)}: status {done.returncode}, not {status}:\n{said}")


def main() -> int:
    """Say what failed."""
    run, sleeper, static = sys.argv[1:]
    expect([run, "--help"], 0, "usage:")
    expect([run, "--version"], 0, r"^clockfix-run \d+\.\d+$")
    expect([run], 125, "no COMMAND")
    expect([run, "--nonsense"], 125, "usage:")
    for bad in ("0", "-1", "x", "", "101"):
        expect([run, "--cpu", bad, "--", "true"], 125, "number from 1 to 100")
    expect([run, "/nonexistent"], 127, "not found")
    expect([run, "/"], 126, "Permission denied")
    expect([run, static], 125, "static")
    expect([run, "sh", "-c", "exit 3"], 3, "")
    # without real-time priority
    expect(["chrt", "-o", "0", run, "--stats", "--", sleeper, "short"],
           0,
           r"sleeper\[\d+\]: no sleep was served, [1-9]\d* passed on: of threads without")
    expect([run, "--all", "--stats", "--cpu", "50", "--", sleeper, "short"], 0,
           r"sleeper\[\d+\]: [1-9]\d* served, [1-9]\d* passed on; late")
    expect([run, "--stats", "true"], 0,
           r"true\[\d+\]: no sleep was served, 0 passed on; what waits")
    # what was preloaded already still is
    expect([run, "sh", "-c", "echo $LD_PRELOAD"], 0, r"libclockfix-run\.so:libc\.so\.6$",
           LD_PRELOAD="libc.so.6")
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        setuid = shutil.copy(sleeper, directory)
        if os.geteuid() == 0:
            os.chown(setuid, 65534, -1)
            Path(setuid).chmod(0o4755)
            expect([run, setuid], 125, "setuid")
        place = Path(directory, "with blank")
        place.mkdir()
        lost = shutil.copy(run, place)
        # one that is installed is another
        expect([lost, "true"], 125, "is not there", CLOCKFIX_RUN_LIBRARY=directory)
        shutil.copy(Path(run).with_name("libclockfix-run.so"), place)
        expect([lost, "true"], 125, "blank")
    print("\n".join(failures))
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
