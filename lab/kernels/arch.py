# SPDX-License-Identifier: GPL-2.0-or-later
"""What an architecture is: its names, its compiler, its kernel image, its machine in QEMU."""

import os
from dataclasses import dataclass

from lab.errors import LabError


@dataclass(frozen=True)
class Arch:
    """One architecture that the lab knows."""

    name: str
    """As the kernel's make calls it."""
    machine: str
    """As ``uname -m`` prints it."""
    debian: str
    cross: str
    """The compiler's prefix; Debian's gcc package has the one of the machine itself as well."""
    target: str
    image: str
    objects: int
    """Roughly how many objects a first build compiles; only the progress bar depends on it."""
    qemu: str
    board: tuple[str, ...]
    """QEMU's machine and CPU."""
    parameters: tuple[str, ...]
    """Words of the kernel's command line."""


_ALL = (
    Arch(
        name="x86_64", machine="x86_64", debian="amd64", cross="x86_64-linux-gnu-",
        target="bzImage", image="arch/x86/boot/bzImage", objects=1290,
        qemu="qemu-system-x86_64", board=("-M", "pc,hpet=off", "-cpu", "max,-rdrand,-rdseed"),
        # noirqdebug: a threaded handler of a 16550 finds the port served by its writer
        # so often that the kernel would take the interrupt for a spurious one
        parameters=("console=ttyS0", "tsc=reliable", "reboot=t", "noirqdebug"),
    ),
    Arch(
        name="arm64", machine="aarch64", debian="arm64", cross="aarch64-linux-gnu-",
        target="Image", image="arch/arm64/boot/Image", objects=1240,
        qemu="qemu-system-aarch64", board=("-M", "virt,gic-version=3", "-cpu", "cortex-a53"),
        parameters=("console=ttyAMA0",),
    ),
)
ARCHES = {arch.name: arch for arch in _ALL}


def own() -> Arch:
    """That of this machine."""
    machine = os.uname().machine
    for arch in _ALL:
        if arch.machine == machine:
            return arch
    raise LabError(f"this machine is a {machine}: the lab knows "
                   f"{', '.join(a.machine for a in _ALL)}")
