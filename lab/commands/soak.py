# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab soak``."""

import argparse

from lab.commands import options
from lab.progress import Progress
from lab.runner import soak


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("--seconds", type=options.positive, default=600, metavar="N",
                        help="stop after N seconds of guest time (600)")
    parser.add_argument("--kernels", type=options.words, default=soak.KERNELS, metavar="LIST",
                        help="churn these kernels instead of the debug kernels")
    parser.add_argument("--suites", type=options.words, default=[], metavar="LIST",
                        help="of those with soak in tests/suites.toml; default: all")
    options.linux(parser, "")


def run(arguments: argparse.Namespace) -> int:
    """Run churn for so long."""
    with Progress() as progress:
        return soak.run(progress, arguments.kernels, arguments.suites, arguments.linux,
                        arguments.seconds)
