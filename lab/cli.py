# SPDX-License-Identifier: GPL-2.0-or-later
"""The ``lab`` command."""

import argparse
import sys
from collections.abc import Sequence

from lab import kernels
from lab.errors import LabError
from lab.progress import Progress


def _kernel(arguments: argparse.Namespace) -> int:
    with Progress() as progress:
        for name in arguments.name:
            kernel = kernels.Kernel.parse(name)
            image = kernels.build(kernel, progress, arguments.jobs)
            print(image)
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="lab", description=__doc__)
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    kernel = verbs.add_parser("kernel", help="build kernels")
    kernel.add_argument("name", nargs="+", metavar="ARCH-FLAVOUR-VARIANT")
    kernel.add_argument("-j", "--jobs", type=int, help="compilers at a time")
    kernel.set_defaults(run=_kernel)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; return the exit status."""
    arguments = parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments)
        return status
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("lab: interrupted", file=sys.stderr)
        return 130
