# SPDX-License-Identifier: LGPL-2.1-or-later
"""Return values of libclockfix, and units."""

import errno
import os

NSEC = 1_000_000_000

HINTS = {
    errno.ECHILD: "the timer belongs to the parent process; make one after the fork",
    errno.EDEADLK: "a function that the timer calls can't wait for its own timer",
    errno.EPERM: "only what a function adjusts itself can be adjusted; or a strict option needs "
                 "a privilege (CAP_SYS_NICE, CAP_IPC_LOCK)",
}


def checked(ret: int) -> int:
    """Raise what a negative return value stands for."""
    if ret >= 0:
        return ret
    if ret == -errno.EINVAL:
        raise ValueError("an argument is out of its range")
    if ret == -errno.ENOMEM:
        raise MemoryError("no memory, or as many jobs are pending as the options allow")
    raise OSError(-ret, HINTS.get(-ret, os.strerror(-ret)))


def nanoseconds(seconds: float) -> int:
    """A duration."""
    return round(seconds * NSEC)
