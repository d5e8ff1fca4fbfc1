# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sleep in one's own thread."""

import errno
import time
from collections.abc import Iterator
from functools import partial
from typing import Self

from clockfix._errors import checked, nanoseconds
from clockfix._native import ffi, lib
from clockfix.options import Options
from clockfix.stats import Stats, read_stats


def hold_gil_until(instant: int, clock: int = time.CLOCK_MONOTONIC) -> None:
    """Poll in C functions only: between two of Python's instructions the GIL might change hands."""
    read = time.monotonic_ns
    if clock != time.CLOCK_MONOTONIC:
        read = partial(time.clock_gettime_ns, clock)
    any(map(instant.__le__, iter(read, None)))


class Sleeper:
    """Returns at exactly an instant; used by one thread at a time.

    The GIL is released during the sleep. With gil_lead (in seconds) it is taken back that long
    before the instant, and the rest is spent holding it.
    """

    def __init__(self, options: Options | None = None, *, gil_lead: float = 0) -> None:
        if gil_lead < 0:
            raise ValueError("gil_lead is negative")
        self._lead = nanoseconds(gil_lead)
        result = ffi.new("struct clockfix_sleeper **")
        checked(lib.clockfix_sleeper_create(result, (options or Options()).native()))
        self._native = ffi.gc(result[0], lib.clockfix_sleeper_destroy)

    def sleep_until(self, instant: int, clock: int = time.CLOCK_MONOTONIC) -> None:
        """Return when a clock that clockfix_sleep_until(3) knows shows that instant.

        A signal's handler is called, as by time.sleep(); unless that raises, the sleep goes on.
        """
        until = max(instant - self._lead, 0)
        while ret := lib.clockfix_sleep_until(self._native, clock, until):
            if ret != -errno.EINTR:
                checked(ret)
        if self._lead:
            hold_gil_until(instant, clock)

    def sleep(self, seconds: float) -> None:
        """Return that long after the call."""
        self.sleep_until(time.monotonic_ns() + nanoseconds(seconds))

    def every(self, seconds: float, *, start: int | None = None) -> Iterator[int]:
        """At start + k * seconds, yield k; what has been missed is left out.

        The first instant is one period from now if no other is given.
        """
        period = nanoseconds(seconds)
        if period <= 0:
            raise ValueError("a period is a nanosecond at least")
        first = time.monotonic_ns() + period if start is None else start
        index = 0
        while True:
            self.sleep_until(first + index * period)
            yield index
            index = max(index + 1, (time.monotonic_ns() - first) // period)

    def stats(self) -> Stats:
        """What happened so far."""
        return read_stats(
            lambda stats: lib.clockfix_sleeper_stats_read(self._native, stats))

    def close(self) -> None:
        """Give the memory back. Sleepers may also be left to the garbage collector."""
        native, self._native = self._native, ffi.NULL
        if native:
            ffi.release(native)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
