# SPDX-License-Identifier: GPL-2.0-or-later
import pytest

from lab.boot.protocol import Outcome
from lab.kernels.kernels import Kernel
from lab.runner import tap
from lab.runner.suites import Suite
from lab.runner.verdict import judge

SHIELDED = Kernel.parse("x86_64-rt-shielded")
STOCK = Kernel.parse("x86_64-rt-stock")
SUITE = Suite("mask", "mask")


def outcome(output: str, status: int | None = 0, taint: int = 0) -> Outcome:
    return Outcome("60 /bin/mask", output, status, taint=taint)


def counts(suite: Suite, kernel: Kernel, result: Outcome | None) -> tuple[int, int, int]:
    verdict = judge(suite, kernel, result)
    return verdict.passed, verdict.failed, verdict.skipped


GOOD = "1..3\nok 1 - a\nok 2 - b\nok 3 - c # SKIP no such thing\n"
BAD = "1..2\nok 1 - a\nnot ok 2 - b\n"


@pytest.mark.parametrize(("result", "expected"), [
    (outcome(GOOD), (2, 0, 1)),
    (outcome(BAD, 1), (1, 1, 0)),
    (outcome(BAD, 0), (1, 2, 0)),
    (outcome(GOOD, 1), (2, 1, 1)),
    (outcome("1..2\nok 1 - a\n"), (1, 1, 0)),
    (outcome(""), (0, 1, 0)),
    (outcome("1..0 # SKIP\n", 4), (0, 0, 1)),
    (outcome("ok 1 - a\n", -11), (1, 1, 0)),
    (outcome("ok 1 - a\n", None), (1, 1, 0)),
    (outcome(GOOD, taint=512), (2, 1, 1)),
    (outcome(GOOD, taint=1 << 18), (2, 0, 1)),
    (None, (0, 1, 0)),
])
def test_tap(result: Outcome | None, expected: tuple[int, int, int]) -> None:
    assert counts(SUITE, SHIELDED, result) == expected


@pytest.mark.parametrize(("result", "expected"), [
    (outcome(BAD, 1), (1, 0, 0)),
    (outcome(GOOD), (0, 1, 0)),
    (outcome(BAD, -6), (0, 1, 0)),
    (outcome(BAD, 1, taint=512), (1, 1, 0)),
])
def test_must_fail_on_stock(result: Outcome, expected: tuple[int, int, int]) -> None:
    assert counts(SUITE, STOCK, result) == expected


def test_selftests_count_by_exit_status() -> None:
    suite = Suite("nanosleep", selftest="timers/nanosleep")
    assert counts(suite, SHIELDED, outcome("", 0)) == (1, 0, 0)
    assert counts(suite, SHIELDED, outcome("", 1)) == (0, 1, 0)
    assert counts(suite, SHIELDED, outcome("", 4)) == (0, 0, 1)


def test_tap_without_numbers_and_names() -> None:
    results = tap.parse("ok\nnot ok\nokay\n# ok 1 - comment\nok 7 # skip why\n")
    assert [line.passed for line in results.lines] == [True, False, True]
    assert results.lines[2].skipped
