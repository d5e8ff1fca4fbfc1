# SPDX-License-Identifier: GPL-2.0-or-later
"""What an experiment runs on: a lab kernel with the shield on or off, or this machine."""

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from lab.errors import LabError
from lab.kernels.arch import ARCHES
from lab.kernels.kernels import DEFAULT_LINUX, LINUXES, WITH_DEFECTS, Kernel, flavours

SWITCH = Path("/proc/sys/kernel/timershield")


class Mode(StrEnum):
    """How a system is measured."""

    STOCK = "stock"
    OFF = "off"
    """A shielded kernel with kernel.timershield=0, or Debian's after it has unloaded the module."""
    SHIELDED = "shielded"
    MODULE = "module"
    """An unmodified kernel of Debian's with kernel/module loaded."""
    UNBOUNDED = "unbounded"
    """A shielded kernel whose tick expires nothing that is held: a planted defect."""


MODES: tuple[Mode, ...] = tuple(m for m in Mode if m is not Mode.UNBOUNDED)
UNBOUNDED_DEFECT = 7
"""In tests/defects.toml."""


@dataclass(frozen=True, order=True)
class Platform:
    """A kernel of the lab without its variant, or one of Debian's."""

    arch: str
    flavour: str
    linux: str = DEFAULT_LINUX
    debian: str = ""

    @property
    def name(self) -> str:
        """``x86_64-preempt``, ``7.3/x86_64-preempt``, or ``debian13/7.3``."""
        if self.debian:
            return self.kernel(Mode.STOCK).name
        words = f"{self.arch}-{self.flavour}"
        return words if self.linux == DEFAULT_LINUX else f"{self.linux}/{words}"

    def kernel(self, mode: Mode) -> Kernel:
        """What to boot."""
        variant = mode.value
        if mode is Mode.UNBOUNDED:
            return Kernel(self.arch, self.flavour, "shielded", WITH_DEFECTS, self.linux)
        if mode is Mode.OFF:
            variant = "module" if self.debian else "shielded"
        return Kernel(self.arch, self.flavour, variant, linux=self.linux, debian=self.debian)

    def modes(self, wanted: Sequence[Mode]) -> list[Mode]:
        """Those of ``wanted`` that it has."""
        lacks = (Mode.SHIELDED, Mode.UNBOUNDED) if self.debian else (Mode.MODULE,)
        return [m for m in wanted if m not in lacks]


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
        return {Mode.OFF: "0", Mode.SHIELDED: "1", Mode.UNBOUNDED: "1"}.get(self.mode)

    @property
    def parameters(self) -> str:
        """More of the kernel's command line."""
        return f"timershield_defect={UNBOUNDED_DEFECT}" if self.mode is Mode.UNBOUNDED else ""

    @property
    def unloads(self) -> bool:
        """Whether the module is loaded and unloaded first."""
        return self.mode is Mode.OFF and self.platform is not None and bool(self.platform.debian)


def platforms(patterns: Sequence[str] | None, linux: str = DEFAULT_LINUX) -> list[Platform]:
    """Platforms named by the user: ``x86_64-rt``, ``x86_64``, ``rt``, ``7.3/rt``.

    ``linux``: the version where a name has none. Without names: x86_64, as preempt and rt.
    """
    chosen: dict[Platform, None] = {}
    for pattern in patterns or ["x86_64"]:
        version, _, words = pattern.rpartition("/")
        if version.startswith("debian"):
            kernel = Kernel.parse(pattern)
            chosen[Platform(kernel.arch, kernel.flavour, kernel.linux, kernel.debian)] = None
            continue
        everything = {f"{a}-{f}": Platform(a, f, version or linux)
                      for a in ARCHES for f in flavours(version or linux)}
        if (version or linux) not in LINUXES:
            raise LabError(f"no Linux '{version or linux}': there are {', '.join(LINUXES)}")
        found = {p: None for name, p in everything.items()
                 if words in (name, *name.split("-")) or words == "all"}
        if not found:
            raise LabError(f"no kernel matches '{pattern}': there are {', '.join(everything)}")
        chosen.update(found)
    return list(chosen)


def modes(names: Sequence[str]) -> list[Mode]:
    """Check what the user named."""
    for name in names:
        if name not in MODES:
            raise LabError(f"there is no mode '{name}': there are {', '.join(MODES)}")
    return [Mode(n) for n in names] or list(MODES)


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
