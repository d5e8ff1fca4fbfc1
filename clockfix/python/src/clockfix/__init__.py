# SPDX-License-Identifier: LGPL-2.1-or-later
"""Go on at exactly an instant.

    sleep_until(time.monotonic_ns() + 1_000_000)

    for index in Sleeper().every(0.001):
        step()

Durations are seconds, as elsewhere in Python; instants are integer nanoseconds of a clock, as
time.clock_gettime_ns() has them, for a float can't hold an instant to the nanosecond.
"""

from clockfix.aio import AsyncTimer
from clockfix.options import Options
from clockfix.sleeper import Sleeper, sleep_until
from clockfix.stats import Histogram, Stats

__all__ = ["AsyncTimer", "Histogram", "Options", "Sleeper", "Stats", "sleep_until"]
