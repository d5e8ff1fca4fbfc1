# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels without their variant, and the modes in which each can be run."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from lab.errors import LabError
from lab.kernels.arch import ARCHES
from lab.kernels.kernels import DEFAULT_LINUX, LINUXES, Kernel, flavours


class Mode(StrEnum):
    """How a system is measured."""

    STOCK = "stock"
    OFF = "off"
    """A shielded kernel with kernel.timershield=0, or Debian's after it has unloaded the module."""
    SHIELDED = "shielded"
    MODULE = "module"
    """An unmodified kernel of Debian's with kernel/module loaded."""


MODES: tuple[Mode, ...] = tuple(Mode)


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
        if mode is Mode.OFF:
            variant = "module" if self.debian else "shielded"
        return Kernel(self.arch, self.flavour, variant, linux=self.linux, debian=self.debian)

    def modes(self, wanted: Sequence[Mode]) -> list[Mode]:
        """Those of ``wanted`` that it has."""
        lacks = Mode.SHIELDED if self.debian else Mode.MODULE
        return [m for m in wanted if m is not lacks]


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
