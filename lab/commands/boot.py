# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab boot``."""

import argparse
from pathlib import Path

from lab.boot import qemu
from lab.commands import options
from lab.errors import LabError
from lab.kernels import kernels
from lab.progress import Progress


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("--kernel", required=True, metavar="[VERSION/]ARCH-FLAVOUR-VARIANT",
                        help="the kernel to boot; build it first")
    parser.add_argument("--initrd", type=Path, required=True, metavar="FILE",
                        help="the initramfs")
    parser.add_argument("--append", action="append", default=[], metavar="WORDS",
                        help="add WORDS to the kernel command line")
    parser.add_argument("--cpus", type=options.positive, default=1, metavar="N",
                        help="virtual CPUs (1)")
    parser.add_argument("--memory", type=options.positive, default=512, metavar="MIB",
                        help="memory of the guest (512)")
    parser.add_argument("--host-time", action="store_true",
                        help="follow the host's clock instead of counting instructions")
    options.linux(parser)


def run(arguments: argparse.Namespace) -> int:
    """Boot; return QEMU's status."""
    kernel = kernels.Kernel.parse(arguments.kernel, arguments.linux)
    if kernel.debian:
        with Progress() as progress:
            kernels.build(kernel, progress)
    if not kernels.installed(kernel):
        raise LabError(f"{kernel.name} is not built: make kernel LINUX={kernel.linux} "
                       f"ARCH={kernel.arch} "
                       f"FLAVOUR={kernel.flavour} VARIANT={kernel.variant}")
    if not arguments.initrd.is_file():
        raise LabError(f"{arguments.initrd}: no such file")
    machine = qemu.Machine(cpus=arguments.cpus, icount=not arguments.host_time,
                           memory=arguments.memory, append=" ".join(arguments.append))
    return qemu.boot_interactive(kernel, arguments.initrd, machine)
