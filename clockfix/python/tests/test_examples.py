# SPDX-License-Identifier: LGPL-2.1-or-later
"""The examples run, and say how late they were."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_example(path: Path) -> None:
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=60,
                          check=True)
    assert int(done.stdout.split()[0]) > 100, done.stdout
    assert "steps, p50" in done.stdout
