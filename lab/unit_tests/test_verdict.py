# SPDX-License-Identifier: GPL-2.0-or-later
import pytest

from lab.boot.protocol import Outcome
from lab.runner.suites import Suite
from lab.runner.verdict import judge, read_tap

MASK = Suite("mask", "mask")
SELFTEST = Suite("selftest-nanosleep", selftest="timers/nanosleep")
GOOD = "1..3\nok 1 - a\nok 2 - b\nok 3 - c # SKIP no such thing\n"
BAD = "1..2\nok 1 - a\nnot ok 2 - b\n# failed: it slept\n"


def outcome(output: str, status: int | None = 0, taint: int = 0) -> Outcome:
    return Outcome("60 /bin/mask", output, status, taint=taint)


@pytest.mark.parametrize(("suite", "result", "passed", "wrong"), [
    (MASK, outcome(GOOD), 2, []),
    (MASK, outcome(BAD, 1), 1, ["not ok: b"]),
    (MASK, outcome(BAD, 0), 1, ["exit status 0 with 1 failed tests", "not ok: b"]),
    (MASK, outcome(GOOD, 1), 2, ["exit status 1 with 0 failed tests"]),
    (MASK, outcome("1..2\nok 1 - a\n"), 1, ["planned 2 tests, ran 1"]),
    (MASK, outcome(""), 0, ["printed no test result"]),
    (MASK, outcome("1..0 # SKIP\n", 4), 0, []),
    (MASK, outcome("ok 1 - a\n", -11), 1, ["killed by signal 11"]),
    (MASK, outcome("ok 1 - a\n", None), 1, ["did not end: the guest was gone before"]),
    (MASK, outcome(GOOD, taint=512), 2, [" the kernel is tainted: 0x200"]),
    (MASK, outcome(GOOD, taint=1 << 18), 2, []),
    (MASK, None, 0, ["did not run: the guest was gone before"]),
    (SELFTEST, outcome(""), 1, []),
    (SELFTEST, outcome("", 1), 0, ["not ok: selftest-nanosleep"]),
    (SELFTEST, outcome("", 4), 0, []),
    (SELFTEST, outcome("", 9), 0, ["exit status 9", "not ok: selftest-nanosleep"]),
])
def test_what_passed_and_what_is_wrong(
    suite: Suite, result: Outcome | None, passed: int, wrong: list[str]
) -> None:
    verdict = judge(suite, result)
    assert (len(verdict.passed), verdict.wrong) == (passed, wrong)


def test_each_line_belongs_to_a_test() -> None:
    verdict, plan = read_tap(BAD + "ok 3 - c # skip why\n# of c\n")
    assert plan == 2
    assert (verdict.passed, verdict.failed, verdict.skipped) == (["a"], ["b"], ["c"])
    assert verdict.said["b"] == "not ok 2 - b\n# failed: it slept\n"


def test_tap_without_numbers_and_names() -> None:
    verdict, _ = read_tap("ok\nnot ok\nokay\n# ok 1 - comment\n")
    assert (len(verdict.passed), len(verdict.failed)) == (1, 1)
