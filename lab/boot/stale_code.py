# SPDX-License-Identifier: GPL-2.0-or-later
"""A defect of QEMU that looks like one of the kernel.

To patch an instruction while other CPUs execute it, Linux on x86 puts an ``int3`` there for a
moment. Before QEMU 8.1 a virtual CPU with a thread of its own could translate a page while
another one wrote to it, and keep the ``int3`` for good. The next trap comes when the patching is
long over, nobody claims it, and the kernel dies of "Oops: int3". It happens where many static
keys change while other CPUs are busy, about once in a hundred boots. QEMU 8.1 locks the page
while it translates, but drops the old translation before it stores the new byte (notdirty_write()
in accel/tcg/cputlb.c), so it is rarer there, and not impossible. Such a guest counts as a failure.
A QEMU 10.0.2 that drops it after that, too, loaded and unloaded the module for 15 minutes
(docs/module.md).
"""

import re
from collections.abc import Iterable

FIRST_WITHOUT = (8, 1)
BOOTS = 3
"""How often a guest is booted before even this counts as a failure."""

_OOPS = re.compile(r"\bOops: int3:")


def possible(qemu_version: str) -> bool:
    """Whether an emulator that calls itself so has the defect."""
    found = re.search(r"version (\d+)\.(\d+)", qemu_version)
    return found is not None and (int(found[1]), int(found[2])) < FIRST_WITHOUT


def seen(reports: Iterable[str]) -> bool:
    """Whether the first thing that a kernel reported is what the defect leads to."""
    return bool(_OOPS.search(next(iter(reports), "")))
