# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sleep in one's own thread."""

import errno
import time
from collections.abc import Iterator
from typing import Any, Self

from clockfix._errors import checked, nanoseconds
from clockfix._native import ffi, lib
from clockfix.options import Options
from clockfix.stats import Stats, read_stats


def instants(seconds: float, start: int | None) -> Iterator[tuple[int, int]]:
    """The k-th of a period, and its instant; what has been missed by then is left out."""
    period = nanoseconds(seconds)
    if period <= 0:
        raise ValueError("a period is a nanosecond at least")
    first = time.monotonic_ns() + period if start is None else start
    index = 0
    while True:
        yield index, first + index * period
        index = max(index + 1, (time.monotonic_ns() - first) // period)


def sleep_until(instant: int, clock: int = time.CLOCK_MONOTONIC) -> None:
    """Return when a clock shows that instant, in integer nanoseconds.

    Each thread has a sleeper of its own for this, which learns. Signals' handlers are called, as by
    time.sleep(); unless one raises, the sleep goes on. The GIL is released meanwhile.
    """
    _sleep_by(ffi.NULL, instant, clock)


def _sleep_by(native: Any, instant: int, clock: int) -> None:
    while ret := lib.clockfix_sleep_until(native, clock, instant):
        if ret != -errno.EINTR:
            checked(ret)


class Sleeper:
    """Returns at exactly an instant; used by one thread at a time.

    The GIL is released during the sleep.
    """

    def __init__(self, options: Options | None = None) -> None:
        result = ffi.new("struct clockfix_sleeper **")
        checked(lib.clockfix_sleeper_create(result, (options or Options()).native()))
        self._native = ffi.gc(result[0], lib.clockfix_sleeper_destroy)

    def sleep_until(self, instant: int, clock: int = time.CLOCK_MONOTONIC) -> None:
        """As the function of that name."""
        if not self._native:
            raise ValueError("it was closed")
        _sleep_by(self._native, instant, clock)

    def sleep(self, seconds: float) -> None:
        """Return that long after the call."""
        self.sleep_until(time.monotonic_ns() + nanoseconds(seconds))

    def every(self, seconds: float, *, start: int | None = None) -> Iterator[int]:
        """At start + k * seconds, yield k; what has been missed is left out.

        The first instant is one period from now if no other is given.
        """
        for index, instant in instants(seconds, start):
            self.sleep_until(instant)
            yield index

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
