# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kernels ``make test`` builds and boots.

A first build of a kernel takes two processors about five minutes, a debug kernel's ten; what
does not fit is run by ``lab/lab test --kernels`` before a release.
"""

KERNELS: tuple[str, ...] = (
    "x86_64-preempt-shielded",
    "x86_64-preempt-stock",
    "7.3/x86_64-preempt-shielded",
)
SOAK: tuple[str, ...] = (
    "x86_64-rt-debug", "x86_64-preempt-debug", "7.3/x86_64-preempt-debug",
)
"""Where ``make soak`` runs."""
