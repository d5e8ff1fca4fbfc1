# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading test output: TAP as programs print it, and KTAP as KUnit does."""

import re
from dataclasses import dataclass, field

_LINE = re.compile(
    r"^(?P<indent> *)(?P<verdict>not ok|ok)\b(?: (?P<number>\d+))?(?: -)? ?(?P<rest>.*)$"
)
_PLAN = re.compile(r"^(?P<indent> *)1\.\.(?P<count>\d+)")
_DIRECTIVE = re.compile(r"# *(SKIP|TODO)\b(.*)", re.IGNORECASE)


@dataclass(frozen=True)
class Line:
    """One test."""

    name: str
    passed: bool
    skipped: bool = False


@dataclass
class Tap:
    """All tests at one level of indentation."""

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


def parse(text: str, indent: int = 0) -> Tap:
    """The tests in ``text`` that are indented by ``indent`` blanks."""
    tap = Tap()
    for line in text.splitlines():
        if (plan := _PLAN.match(line)) and len(plan["indent"]) == indent:
            tap.plan = int(plan["count"])
        elif (m := _LINE.match(line)) and len(m["indent"]) == indent:
            directive = _DIRECTIVE.search(m["rest"])
            name = m["rest"][: directive.start()] if directive else m["rest"]
            skipped = directive is not None and directive[1].upper() == "SKIP"
            tap.lines.append(Line(name.strip(), m["verdict"] == "ok", skipped))
    return tap
