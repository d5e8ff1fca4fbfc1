# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of commands that measure or judge."""

import argparse
import os
from pathlib import Path

from lab.commands.options import linux, positive, words
from lab.paths import RESULTS


def results(parser: argparse.ArgumentParser) -> None:
    """--results."""
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIRECTORY",
                        help="where raw samples are kept (build/results)")


def measured(parser: argparse.ArgumentParser) -> None:
    """What both ``run`` and ``evaluate`` ask."""
    parser.add_argument("--kernels", type=words, metavar="LIST",
                        help="platforms: x86_64-rt, arm64-preempt, rt, arm64, all (x86_64); "
                             "7.3/rt; Debian's own: debian12/6.1, debian13/7.3-rt")
    parser.add_argument("--quick", action="store_true", help="take a tenth of the samples")
    parser.add_argument("--guests", type=positive, default=len(os.sched_getaffinity(0)),
                        metavar="N", help="run N guests at a time (one for each CPU)")
    results(parser)
    linux(parser)
