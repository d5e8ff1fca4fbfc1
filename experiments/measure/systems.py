# SPDX-License-Identifier: GPL-2.0-or-later
"""What an experiment runs on: a kernel in a mode, or this machine."""

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kernel.tools import patchset
from lab.errors import LabError
from lab.kernels.kernels import Kernel
from lab.kernels.platforms import MODES, Mode, Platform

SWITCH = Path("/proc/sys/kernel/timershield")


@dataclass(frozen=True)
class System:
    """What is measured: a platform, or with None this machine, in a mode."""

    platform: Platform | None
    mode: Mode
    cpus: int = 1

    @property
    def name(self) -> str:
        """That of the directory of its results."""
        return f"{self.place.replace('/', '-')}-{self.mode}"

    @property
    def place(self) -> str:
        """What it has in common with the same in other modes, for the reader."""
        cpus = f"-{self.cpus}cpus" if self.cpus > 1 else ""
        return (self.platform.name if self.platform else "host") + cpus

    @property
    def option(self) -> str:
        """How the user has ``lab/lab run`` measure it."""
        return f"--kernels {self.platform.name}" if self.platform else "--target host"

    def described(self) -> dict[str, Any]:
        """It in meta.json."""
        platform = asdict(self.platform) if self.platform else None
        return {"platform": platform, "mode": self.mode.value, "cpus": self.cpus}

    @classmethod
    def from_description(cls, found: Any) -> "System":
        """What :meth:`described` made; ValueError if it is something else."""
        try:
            platform = found["platform"] and Platform(**found["platform"])
            return cls(platform, Mode(found["mode"]), int(found["cpus"]))
        except (TypeError, KeyError) as error:
            raise ValueError("it does not say on which 'system'") from error

    @property
    def kernel(self) -> Kernel:
        """The lab kernel to boot."""
        assert self.platform is not None
        return self.platform.kernel(self.mode)

    @property
    def switch(self) -> str | None:
        """What to write to kernel.timershield first."""
        if self.unloads:
            return None
        return {Mode.OFF: "0", Mode.SHIELDED: "1"}.get(self.mode)

    @property
    def levels(self) -> bool:
        """Whether it has what kernel.timershield=2 takes, or does without the shield."""
        return self.mode is not Mode.SHIELDED or (
            patchset.PATCHES / self.kernel.linux / "levels").is_dir()

    @property
    def unloads(self) -> bool:
        """Whether the module is loaded and unloaded first."""
        return self.mode is Mode.OFF and self.platform is not None and bool(self.platform.debian)


def host_modes(wanted: Sequence[Mode]) -> list[Mode]:
    """Those of ``wanted`` in which this machine's own kernel can run; of all, those that it has."""
    there = (Mode.OFF, Mode.SHIELDED) if SWITCH.exists() else (Mode.STOCK,)
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
