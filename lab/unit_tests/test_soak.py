# SPDX-License-Identifier: GPL-2.0-or-later
from lab.progress import Progress
from lab.runner.soak import HowFar, totals


def hear(*pieces: bytes) -> HowFar:
    with Progress().bar("churn", 600) as bar:
        how_far = HowFar(bar)
        for piece in pieces:
            how_far.hear(piece)
    return how_far


def test_a_line_says_how_far_it_is() -> None:
    how_far = hear(b"TAP version 13\r\n# 12 of 600 s: 90 timers armed, 0 faults\n",
                   b"# 24 of 600 s: 180 timers armed, 1 faults\n")
    assert how_far.until_then([]) == (
        "in 24 s of guest time 180 timers armed, 1 faults, no report of the kernel")


def test_a_line_may_come_in_pieces() -> None:
    how_far = hear(b"# 12 of 6", b"00 s: 90 timers ar", b"med, 0 faults\n# 24 of 600 s: 18")
    assert "in 12 s of guest time 90 timers armed, 0 faults" in how_far.until_then([])


def test_what_the_kernel_reports_comes_first() -> None:
    how_far = hear(b"# 12 of 600 s: 90 timers armed, 0 faults\n")
    assert how_far.until_then(["WARNING: x"]) == "the kernel reported: WARNING: x"


def test_nothing_is_made_up() -> None:
    assert hear(b"# 5 workers\n").until_then([]) == "nothing is known of it yet"


def test_the_end_tells_how_many_there_were() -> None:
    output = "# 600 of 600 s: 9 timers armed\nok 1 - churn\n# seed 2: 9 armed\n# 3 rests\nok 2"
    assert totals(output) == ["seed 2: 9 armed", "3 rests"]
    assert totals("ok 1 - churn\n") == []
