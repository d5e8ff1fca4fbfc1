# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab report``: all experiments that have results, in one page."""

import argparse
import sys
from pathlib import Path

from experiments import report
from experiments.commands import options
from lab.paths import BUILD

PAGE = BUILD / "report.html"


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", default=PAGE,
                        help="write the page to FILE (build/report.html)")
    options.results(parser)


def run(arguments: argparse.Namespace) -> int:
    """Draw; print where the page is."""
    damaged = report.write(arguments.results, arguments.output)
    print(arguments.output)
    for reason in damaged.values():
        print(f"lab: {reason}", file=sys.stderr)
    return 1 if damaged else 0
