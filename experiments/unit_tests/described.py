# SPDX-License-Identifier: GPL-2.0-or-later
"""What meta.json says of the system whose results have a given name."""

from typing import Any

from lab.measure.systems import Mode, Platform, System


def described(name: str) -> dict[str, Any]:
    """``x86_64-preempt-stock``, ``arm64-rt-2cpus-off``, ``host-stock``."""
    words = name.split("-")
    mode = Mode(words[-1]) if words[-1] in tuple(Mode) else Mode.STOCK
    cpus = 2 if "2cpus" in words else 1
    platform = Platform(words[0], words[1]) if words[0] in ("x86_64", "arm64") else None
    return System(platform, mode, cpus).described()
