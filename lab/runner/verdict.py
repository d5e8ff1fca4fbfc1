# SPDX-License-Identifier: GPL-2.0-or-later
"""From what a guest test did to how many tests passed and failed."""

from dataclasses import dataclass, field

from lab.boot.protocol import Outcome
from lab.kernels.kernels import Kernel
from lab.runner import tap
from lab.runner.suites import Suite

SKIPPED = 4
BAD_TAINT = sum(1 << bit for bit in (4, 5, 7, 9, 14))
"""Machine check, bad page, oops, warning, lockup."""


@dataclass
class Verdict:
    """What one suite, or one tool, adds to the totals."""

    name: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    notes: list[str] = field(default_factory=list)

    def fail(self, note: str) -> None:
        """One more failure, and why."""
        self.failed += 1
        self.notes.append(note)


def failure(name: str, why: Exception) -> Verdict:
    """The verdict on something that could not be run to its end."""
    verdict = Verdict(name)
    verdict.fail(str(why))
    return verdict


def _how_it_ended(outcome: Outcome) -> str | None:
    """None if it exited with 0, 1 or 4; else what happened."""
    if outcome.timed_out:
        return "did not end in time"
    if outcome.status is None:
        return "did not end: the guest was gone before"
    if outcome.status < 0:
        return f"killed by signal {-outcome.status}"
    if outcome.status not in (0, 1, SKIPPED):
        return f"exit status {outcome.status}"
    return None


def _count(verdict: Verdict, results: tap.Tap) -> None:
    verdict.passed += len(results.passed)
    verdict.skipped += len(results.skipped)
    for line in results.failed:
        verdict.fail(f"not ok: {line.name}")
    if results.plan is not None and results.plan != len(results.lines):
        verdict.fail(f"planned {results.plan} tests, ran {len(results.lines)}")


def _judge_tap(verdict: Verdict, outcome: Outcome) -> None:
    results = tap.parse(outcome.output)
    _count(verdict, results)
    if outcome.status == SKIPPED and not results.failed:
        verdict.skipped += not results.lines
        return
    if not results.lines:
        verdict.fail("printed no test result")
    if bool(outcome.status) != bool(results.failed):
        verdict.fail(f"exit status {outcome.status} with {len(results.failed)} failed tests")


def _judge_selftest(verdict: Verdict, outcome: Outcome) -> None:
    if outcome.status == 0:
        verdict.passed += 1
    elif outcome.status == SKIPPED:
        verdict.skipped += 1
    else:
        verdict.fail(f"exit status {outcome.status}")


def judge(suite: Suite, kernel: Kernel, outcome: Outcome | None) -> Verdict:
    """The verdict on one suite on one kernel."""
    verdict = Verdict(f"{kernel.name} {suite.name}")
    if outcome is None:
        verdict.fail("did not run: the guest was gone before")
        return verdict
    ended = _how_it_ended(outcome)
    if ended:
        verdict.fail(ended)
        _count(verdict, tap.parse(outcome.output))
    elif suite.selftest:
        _judge_selftest(verdict, outcome)
    else:
        _judge_tap(verdict, outcome)
    if kernel.variant == "stock" and suite.on_stock == "fail":
        verdict = _must_fail(verdict, crashed=ended)
    if outcome.taint & BAD_TAINT:
        verdict.fail(f"the kernel is tainted: {outcome.taint:#x}")
    return verdict


def _must_fail(verdict: Verdict, crashed: str | None) -> Verdict:
    """On a stock kernel: the suite must notice that the shield is missing."""
    result = Verdict(f"{verdict.name} (must fail)")
    if crashed:
        result.fail(crashed)
    elif verdict.failed:
        result.passed = 1
    elif verdict.skipped and not verdict.passed:
        result.skipped = 1
    else:
        result.fail("passes without the shield: it cannot tell")
    return result
