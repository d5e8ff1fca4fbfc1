# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab test``."""

import argparse

from lab.commands import options
from lab.progress import Progress
from lab.runner import testing


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("--kernels", type=options.words, metavar="LIST",
                        help="test these kernels instead of those in lab/runner/matrix.py")
    parser.add_argument("--suites", type=options.words, default=[], metavar="LIST",
                        help="run only guest suites whose names match these shell patterns")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--guests-only", action="store_true", help="run only the guest tests")
    only.add_argument("--host-only", action="store_true", help="boot no guests")
    options.linux(parser, "")


def run(arguments: argparse.Namespace) -> int:
    """Run the chosen tests."""
    with Progress() as progress:
        return testing.run(progress, testing.Selection(
            kernels=arguments.kernels, suites=arguments.suites, linux=arguments.linux,
            host=not arguments.guests_only, guests=not arguments.host_only,
        ))
