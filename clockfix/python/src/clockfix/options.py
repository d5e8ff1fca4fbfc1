# SPDX-License-Identifier: LGPL-2.1-or-later
"""Options of a timer or sleeper; clockfix_create(3) explains them."""

from dataclasses import dataclass
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
    job_reserve: int | None = None
    """How many jobs submitted by functions that the timer calls may be pending."""
    name: str | None = None
    """Of the worker's thread, as top and ps show it; 15 bytes at most."""
    lock_memory: bool = False
    strict: bool = False
    """Fail if an option can't be had; else capabilities() says so."""

    def native(self) -> Any:
        """As the library takes them."""
        options = ffi.new("struct clockfix_options *")
        lib.clockfix_options_init(options)
        for name in ("cpu", "policy", "priority", "cpu_latency_us", "late_ppm", "cpu_ppm",
                     "max_jobs", "job_reserve"):
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
        options.flags = (
            (lib.CLOCKFIX_LOCK_MEMORY if self.lock_memory else 0)
            | (lib.CLOCKFIX_STRICT if self.strict else 0)
        )
        return options
