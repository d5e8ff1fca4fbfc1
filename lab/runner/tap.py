# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading test output: TAP."""

import re
from dataclasses import dataclass, field

_LINE = re.compile(r"(not ok|ok)\b(?: \d+)?(?: -)? ?(.*)")
_PLAN = re.compile(r"1\.\.(\d+)")
_SKIP = re.compile(r"# *SKIP\b", re.IGNORECASE)


@dataclass(frozen=True)
class Line:
    """One test."""

    name: str
    passed: bool
    skipped: bool = False


@dataclass
class Tap:
    """All tests of a program."""

    lines: list[Line] = field(default_factory=list)
    plan: int | None = None

    @property
    def failed(self) -> list[Line]:
        return [line for line in self.lines if not line.passed and not line.skipped]

    @property
    def passed(self) -> list[Line]:
        return [line for line in self.lines if line.passed and not line.skipped]

    @property
    def skipped(self) -> list[Line]:
        return [line for line in self.lines if line.skipped]


def parse(text: str) -> Tap:
    """The tests in ``text``."""
    tap = Tap()
    for line in text.splitlines():
        if plan := _PLAN.match(line):
            tap.plan = int(plan[1])
        elif m := _LINE.match(line):
            skip = _SKIP.search(m[2])
            name = m[2][: skip.start()] if skip else m[2]
            tap.lines.append(Line(name.strip(), m[1] == "ok", skip is not None))
    return tap
