# SPDX-License-Identifier: LGPL-2.1-or-later
"""Options of a timer or sleeper; clockfix_create(3) explains them."""

from dataclasses import dataclass, replace
from typing import Any

from clockfix._native import ffi, lib


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is None or False is left at the library's default."""

    cpu: int | None = None
    """Pin the worker to this CPU."""
    policy: int | None = None
    """os.SCHED_FIFO or os.SCHED_RR; needs a priority from 1 to 99."""
    priority: int | None = None
    cpu_latency_us: int | None = None
    """Keep CPUs from idle states that take longer than this to leave."""
    late_ppm: int | None = None
    """Of a million calls so many may be more than 1 us late: 1000 is 1 in 1,000."""
    cpu_ppm: int | None = None
    """Waiting may take that many millionths of a CPU: 50,000 is 5 %."""
    max_jobs: int | None = None
    name: str | None = None
    """Of the worker's thread, as top and ps show it; 15 bytes at most."""
    strict: bool = False
    """Fail if an option can't be had; else capabilities() says so."""

    def native(self) -> Any:
        """As the library takes them."""
        options = ffi.new("struct clockfix_options *")
        lib.clockfix_options_init(options)
        for name in ("cpu", "policy", "priority", "cpu_latency_us", "late_ppm", "cpu_ppm",
                     "max_jobs"):
            value = getattr(self, name)
            if value is None:
                continue
            try:
                setattr(options, name, value)
            except OverflowError:
                raise ValueError(f"{name}={value} is out of its range") from None
        if self.name is not None:
            encoded = self.name.encode()
            if not 0 < len(encoded) <= 15:
                raise ValueError("a thread's name has 1 to 15 bytes")
            options.name = encoded
        options.flags = lib.CLOCKFIX_STRICT if self.strict else 0
        return options

    def for_sleeper(self) -> "Options":
        """Without what a timer's thread is asked for; that is checked here."""
        if self.policy is not None and not 1 <= (self.priority or 0) <= 99:
            raise ValueError("a policy takes a priority from 1 to 99")
        if self.cpu is not None and not 0 <= self.cpu < 1024:
            raise ValueError(f"cpu={self.cpu} is out of its range")
        self.native()
        return replace(self, cpu=None, policy=None, priority=None, cpu_latency_us=None)
