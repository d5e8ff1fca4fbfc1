# SPDX-License-Identifier: LGPL-2.1-or-later
"""How late a function is called, by what else wants the GIL.

usage: gil.py [SECONDS] (for each line; as root the timer's thread is SCHED_FIFO)
"""

import os
import sys
import threading
import time
from collections.abc import Callable

from clockfix import Options, Timer

PERIOD = 0.001
ROUNDS = 3


def calculates() -> None:
    """Wants the GIL all the time."""
    sum(range(1000))


def nothing() -> None:
    """Leaves the GIL alone."""
    time.sleep(0.01)


def measure(seconds: float, lead: float, interval: float, other: Callable[[], None]) -> list[int]:
    """Lateness of a periodic function, in ns."""
    late: list[int] = []
    ended = False

    def loop() -> None:
        while not ended:
            other()

    def called() -> None:
        late.append(time.monotonic_ns() - job.instant)

    before = sys.getswitchinterval()
    sys.setswitchinterval(interval)
    thread = threading.Thread(target=loop)
    thread.start()
    options = Options(policy=os.SCHED_FIFO, priority=80) if os.geteuid() == 0 else None
    with Timer(options, gil_lead=lead) as timer:
        job = timer.every(PERIOD, called)
        time.sleep(seconds)
    ended = True
    thread.join()
    sys.setswitchinterval(before)
    return late


CASES = [
    ("sleeps", nothing, 0.0, 0.005),
    ("sleeps", nothing, 0.0001, 0.005),
    ("calculates", calculates, 0.0, 0.005),
    ("calculates", calculates, 0.0, 0.0001),
    ("calculates", calculates, 0.0003, 0.0001),
]


def main() -> None:
    """All cases in turn, some rounds."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3
    late: list[list[int]] = [[] for _ in CASES]
    for _ in range(ROUNDS):
        for case, (_, other, lead, interval) in enumerate(CASES):
            late[case] += measure(seconds / ROUNDS, lead, interval, other)
    print("| the other thread | gil_lead | switch interval | calls | p50 | p95 | p99 |")
    print("|---|---|---|---|---|---|---|")
    for values, (name, _, lead, interval) in zip(late, CASES, strict=True):
        values.sort()
        p50, p95, p99 = (f"{values[int(len(values) * q)] / 1000:,.1f} µs"
                         for q in (0.5, 0.95, 0.99))
        print(f"| {name} | {lead * 1e6:.0f} µs | {interval * 1e6:,.0f} µs | {len(values)} | {p50} "
              f"| {p95} | {p99} |")


if __name__ == "__main__":
    main()
