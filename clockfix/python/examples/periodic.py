# SPDX-License-Identifier: LGPL-2.1-or-later
"""A control loop of 1 kHz for a second, and how late it was."""

import time

from clockfix import Timer

late: list[int] = []


def step() -> None:
    """What is to be done each millisecond."""
    late.append(time.monotonic_ns() - job.instant)


with Timer() as timer:
    job = timer.every(0.001, step)
    time.sleep(1)
late.sort()
half, most = late[len(late) // 2], late[len(late) * 99 // 100]
print(f"{len(late)} steps, p50 {half} ns late, p99 {most} ns")
