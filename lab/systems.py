# SPDX-License-Identifier: GPL-2.0-or-later
"""What an experiment runs on: a lab kernel with the shield on or off, or this machine."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError
from lab.kernels import ARCHES, FLAVOURS, Kernel

SWITCH = Path("/proc/sys/kernel/timershield")


@dataclass(frozen=True)
class System:
    """``stock``, ``off`` (shielded kernel, kernel.timershield=0) or ``shielded``, or the host."""

    platform: str
    """``x86_64-preempt`` and the like, or ``host``."""
    mode: str

    @property
    def name(self) -> str:
        return f"{self.platform}-{self.mode}"

    @property
    def kernel(self) -> Kernel:
        """The lab kernel to boot."""
        variant = "stock" if self.mode == "stock" else "shielded"
        return Kernel.parse(f"{self.platform}-{variant}")

    @property
    def switch(self) -> str | None:
        """What to write to kernel.timershield first."""
        return {"stock": None, "off": "0", "shielded": "1"}[self.mode]


MODES = ("stock", "off", "shielded")


def platforms(patterns: list[str] | None) -> list[str]:
    """Lab platforms named by the user: ``x86_64-rt``, ``x86_64``, ``rt``; default x86_64."""
    everything = [f"{a}-{f}" for a in ARCHES for f in FLAVOURS]
    chosen = []
    for pattern in patterns or ["x86_64"]:
        found = [p for p in everything if pattern in (p, *p.split("-")) or pattern == "all"]
        if not found:
            raise LabError(f"no kernel matches '{pattern}': there are {', '.join(everything)}")
        chosen += [p for p in found if p not in chosen]
    return chosen


def modes(names: list[str]) -> list[str]:
    """Check what the user named."""
    for name in names:
        if name not in MODES:
            raise LabError(f"there is no mode '{name}': there are {', '.join(MODES)}")
    return names or list(MODES)


def host_modes(wanted: Sequence[str]) -> list[str]:
    """Those of ``wanted`` in which this machine's own kernel can run; of all, those that it has."""
    there = ("off", "shielded") if SWITCH.exists() else ("stock",)
    absent = [m for m in wanted if m not in there]
    if absent and set(wanted) != set(MODES):
        raise LabError(f"this machine's kernel cannot be measured as {', '.join(absent)}: it has "
                       f"{'' if SWITCH.exists() else 'no '}kernel.timershield, so there is "
                       f"{', '.join(there)}")
    if SWITCH.exists() and not os.access(SWITCH, os.W_OK):
        raise LabError(f"{SWITCH} can only be written by root: run this as root")
    return [m for m in there if m in wanted]


def host_description() -> str:
    """Kernel and CPU of this machine."""
    model = ""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith(("model name", "CPU part")):
            model = line.partition(":")[2].strip()
            break
    name = platform.uname()
    return f"{name.system} {name.release} {name.version} {name.machine}, {model}"
