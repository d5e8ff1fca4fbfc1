# SPDX-License-Identifier: GPL-2.0-or-later
"""The ``lab`` command as a shell sees it."""

import subprocess
import sys

from lab.paths import REPO


def test_a_reader_that_has_enough_is_no_error() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "lab", "list"], cwd=REPO, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def test_bad_input_is_named() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lab", "kernel", "x86_64-preempt-best"], cwd=REPO,
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("lab: kernel 'x86_64-preempt-best': variant 'best'")
