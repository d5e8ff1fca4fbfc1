# SPDX-License-Identifier: GPL-2.0-or-later
"""The progress of a suite of any length, from its output."""

import re

from lab.progress import Bar

PATIENCE = 3600.0
"""Host seconds; a guest that churns says something every ten seconds of its own."""
_LINE = re.compile(rb"# (\d+) of \d+ s: (.*)")


class HowFar:
    """Understands ``# 120 of 600 s: 4711 timers armed, 0 faults``."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._rest = b""
        self._seconds = 0
        self._found = ""

    def hear(self, output: bytes) -> None:
        """Take in what the suite has printed; a line may come in pieces."""
        *lines, self._rest = (self._rest + output).split(b"\n")
        for line in lines:
            if match := _LINE.fullmatch(line.rstrip(b"\r")):
                done = int(match[1])
                self._bar.advance(done - self._seconds)
                self._seconds, self._found = done, match[2].decode(errors="replace")

    def until_then(self, reports: list[str]) -> str:
        """What is known of one that was stopped. ``reports``: the kernel's."""
        if reports:
            return f"the kernel reported: {reports[0]}"
        if not self._found:
            return "nothing is known of it yet"
        return f"in {self._seconds} s of guest time {self._found}, no report of the kernel"


def totals(output: str) -> list[str]:
    """What a suite says of itself at its end: the line with its seed, and the next."""
    lines = output.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith("# seed ")), len(lines))
    return [line.removeprefix("# ") for line in lines[first:first + 2] if line.startswith("# ")]
