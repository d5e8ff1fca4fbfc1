# SPDX-License-Identifier: LGPL-2.1-or-later
"""What happened so far."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clockfix._errors import checked
from clockfix._native import ffi, lib


class Histogram:
    """Durations in nanoseconds, with a relative error of 1/16 at most."""

    def __init__(self, native: Any, owner: Any) -> None:
        self._native = native
        self._owner = owner  # of the memory
        self.count: int = native.count
        self.sum: int = native.sum
        self.max: int = native.max

    def quantile(self, share: float) -> int:
        """The value that a share (0 to 1) of the values does not exceed; 0 without values."""
        return int(lib.clockfix_histogram_quantile(ffi.addressof(self._native), share))

    def __repr__(self) -> str:
        return (f"<Histogram: {self.count} values, p50 {self.quantile(0.5)}, "
                f"p99 {self.quantile(0.99)}, max {self.max}>")


@dataclass(frozen=True)
class Stats:
    """As struct clockfix_stats; times in nanoseconds."""

    jobs: int
    sleeps: int
    late: int
    polled: int
    late_ppm: int
    """Share of late calls of late, in millionths."""
    cpu_ppm: int
    """CPU time that waiting took meanwhile, in millionths of a CPU."""
    lateness: Histogram
    """Where the library's wait ended after the instant: before the GIL."""



def read_stats(read: Callable[[Any], int]) -> Stats:
    """Of a timer or sleeper."""
    native = ffi.new("struct clockfix_stats *")
    native.size = ffi.sizeof("struct clockfix_stats")
    checked(read(native))
    found: dict[str, Any] = {name: getattr(native, name) for name in Stats.__dataclass_fields__}
    found["lateness"] = Histogram(native.lateness, native)
    return Stats(**found)
