# SPDX-License-Identifier: LGPL-2.1-or-later
"""Call a function at exactly its instant.

    with Timer() as timer:
        timer.every(0.001, step)

Durations are seconds, as elsewhere in Python; instants are integer nanoseconds of a clock, as
time.clock_gettime_ns() has them, for a float can't hold an instant to the nanosecond.
"""

from clockfix.aio import AsyncTimer
from clockfix.options import Options
from clockfix.sleeper import Sleeper
from clockfix.stats import Capabilities, Histogram, Stats, capabilities
from clockfix.timer import Job, Missed, Timer

__all__ = [
    "AsyncTimer",
    "Capabilities",
    "Histogram",
    "Job",
    "Missed",
    "Options",
    "Sleeper",
    "Stats",
    "Timer",
    "capabilities",
]
