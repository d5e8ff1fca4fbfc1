# SPDX-License-Identifier: LGPL-2.1-or-later
"""Options; clockfix.h explains them."""

from dataclasses import asdict, dataclass
from typing import Any

from clockfix._native import ffi, lib


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is None is left at the library's default."""

    late_ppm: int | None = None
    """Of a million sleeps so many may end more than 1 us late: 1000 is 1 in 1,000."""
    cpu_ppm: int | None = None
    """Waiting may take that many millionths of a CPU: 50,000 is 5 %."""

    def native(self) -> Any:
        """As the library takes them."""
        options = ffi.new("struct clockfix_options *")
        lib.clockfix_options_init(options)
        for name, value in asdict(self).items():
            try:
                setattr(options, name, value or 0)
            except OverflowError:
                raise ValueError(f"{name}={value} is out of its range") from None
        return options
