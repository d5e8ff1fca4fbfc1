# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab defects``."""

import argparse

from lab.commands import options
from lab.progress import Progress
from lab.runner import defects


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("--only", type=options.numbers, metavar="LIST",
                        help="try only these defects, by their numbers in defects.toml")
    parser.add_argument("--queue", action="store_true",
                        help="try only the defects of the timer queue, which need no guest")


def run(arguments: argparse.Namespace) -> int:
    """Build them in, and run what must notice them."""
    with Progress() as progress:
        return defects.run(progress, arguments.only, arguments.queue)
