# SPDX-License-Identifier: LGPL-2.1-or-later
"""Return values of libclockfix, and units."""

import errno
import os

NSEC = 1_000_000_000


def checked(ret: int) -> int:
    """Raise what a negative return value stands for."""
    if ret >= 0:
        return ret
    if ret == -errno.EINVAL:
        raise ValueError("an argument is out of its range")
    if ret == -errno.ENOMEM:
        raise MemoryError
    raise OSError(-ret, os.strerror(-ret))


def nanoseconds(seconds: float) -> int:
    """A duration."""
    return round(seconds * NSEC)
