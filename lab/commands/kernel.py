# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab kernel``."""

import argparse

from lab.commands import options
from lab.kernels import kernels
from lab.progress import Progress


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("name", nargs="+", metavar="[VERSION/]ARCH-FLAVOUR-VARIANT")
    parser.add_argument("-j", "--jobs", type=options.positive, metavar="N",
                        help="run N compilers at a time")
    options.linux(parser)


def run(arguments: argparse.Namespace) -> int:
    """Build, and print the images."""
    names = [kernels.Kernel.parse(n, arguments.linux) for n in arguments.name]
    with Progress() as progress:
        for kernel in names:
            print(kernels.build(kernel, progress, arguments.jobs))
    return 0
