# SPDX-License-Identifier: LGPL-2.1-or-later
"""The examples run, and say how late they were; what README.md shows runs, too."""

import asyncio
import contextlib
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from clockfix import AsyncTimer

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_example(path: Path) -> None:
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=60,
                          check=True)
    # how many is the machine's affair
    assert re.match(r"[1-9]\d* steps, p50 \d+ ns late", done.stdout), done.stdout


def test_readme() -> None:
    text = (EXAMPLES.parent / "README.md").read_text()
    call, loop, coroutine = re.findall("```python\n(.*?)```", text, re.DOTALL)
    calls: list[str] = []

    def step() -> None:
        calls.append("step")
        if len(calls) > 20:
            raise StopIteration

    names: dict[str, Any] = {"step": step, "AsyncTimer": AsyncTimer}
    exec(call, names)
    with contextlib.suppress(StopIteration):
        exec(loop, names)
    assert len(calls) > 20
    names["step"] = lambda: calls.append("step")
    exec("async def main():\n" + textwrap.indent(coroutine, "    "), names)
    calls.clear()

    async def some_steps() -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(names["main"](), 0.5)

    asyncio.run(some_steps())
    assert calls
