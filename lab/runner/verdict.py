# SPDX-License-Identifier: GPL-2.0-or-later
"""From what a guest test printed to which of its tests passed and failed."""

import re
from dataclasses import dataclass, field

from lab.boot.protocol import Outcome
from lab.runner.suites import Suite

SKIPPED = 4
BAD_TAINT = sum(1 << bit for bit in (4, 5, 7, 9, 14))
"""Machine check, bad page, oops, warning, lockup."""
_RESULT = re.compile(r"(not ok|ok)\b(?: \d+)?(?: -)? ?([^#]*)(# *SKIP\b)?", re.IGNORECASE)
_PLAN = re.compile(r"1\.\.(\d+)")


@dataclass
class Verdict:
    """What one suite did."""

    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    """About the suite as a whole."""
    crashed: str = ""
    """It did not come to its end, or the kernel suffered."""
    said: dict[str, str] = field(default_factory=dict)
    """What each test printed."""
    output: str = ""

    @property
    def wrong(self) -> list[str]:
        """All that must not be."""
        return [*([self.crashed] if self.crashed else []), *self.complaints,
                *(f"not ok: {name}" for name in self.failed)]


def read_tap(text: str) -> tuple[Verdict, int | None]:
    """The tests in ``text``, and how many were planned."""
    verdict, plan, name = Verdict(output=text), None, ""
    for line in text.splitlines():
        if found := _PLAN.match(line):
            plan = int(found[1])
        elif found := _RESULT.match(line):
            name = found[2].strip()
            where = (verdict.skipped if found[3] else
                     verdict.passed if found[1] == "ok" else verdict.failed)
            where.append(name)
        if name:
            verdict.said[name] = f"{verdict.said.get(name, '')}{line}\n"
    return verdict, plan


def _how_it_ended(outcome: Outcome) -> str:
    """Nothing if it exited with 0, 1 or 4."""
    if outcome.timed_out:
        return "did not end in time"
    if outcome.status is None:
        return "did not end: the guest was gone before"
    if outcome.status < 0:
        return f"killed by signal {-outcome.status}"
    if outcome.status not in (0, 1, SKIPPED):
        return f"exit status {outcome.status}"
    return ""


def judge(suite: Suite, outcome: Outcome | None) -> Verdict:
    """The verdict on one run of a suite."""
    if outcome is None:
        return Verdict(crashed="did not run: the guest was gone before")
    verdict, plan = read_tap(outcome.output)
    ran = len(verdict.passed) + len(verdict.failed) + len(verdict.skipped)
    verdict.crashed = _how_it_ended(outcome)
    if outcome.taint & BAD_TAINT:
        verdict.crashed += f" the kernel is tainted: {outcome.taint:#x}"
    if suite.selftest:
        by_status: dict[int | None, list[str]] = {0: verdict.passed, SKIPPED: verdict.skipped}
        by_status.get(outcome.status, verdict.failed)[:] = [suite.name]
        return verdict
    if plan is not None and plan != ran:
        verdict.complaints.append(f"planned {plan} tests, ran {ran}")
    if outcome.status == SKIPPED and not verdict.failed:
        if not ran:
            verdict.skipped.append(suite.name)
    elif not ran:
        verdict.complaints.append("printed no test result")
    elif not verdict.crashed and bool(outcome.status) != bool(verdict.failed):
        verdict.complaints.append(
            f"exit status {outcome.status} with {len(verdict.failed)} failed tests")
    return verdict
