# SPDX-License-Identifier: LGPL-2.1-or-later
"""A control loop of 1 kHz for a second, and how late it was."""

import time

from clockfix import Sleeper

late: list[int] = []
start = time.monotonic_ns() + 1_000_000
for index in Sleeper().every(0.001, start=start):
    late.append(time.monotonic_ns() - start - index * 1_000_000)
    if index >= 1000:
        break
late.sort()
half, most = late[len(late) // 2], late[len(late) * 99 // 100]
print(f"{len(late)} steps, p50 {half} ns late, p99 {most} ns")
