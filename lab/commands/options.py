# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that several commands have."""

import argparse
import os
from pathlib import Path

from kernel.tools import patchset
from lab.paths import RESULTS


def positive(text: str) -> int:
    """A number from 1 up."""
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 up")
    return int(text)


def words(text: str) -> list[str]:
    """What commas separate."""
    found = [t for t in text.split(",") if t]
    if not found:
        raise argparse.ArgumentTypeError(f"'{text}' names nothing")
    return found


def numbers(text: str) -> list[int]:
    """Numbers from 1 up that commas separate."""
    return [positive(t) for t in words(text)]


def results(parser: argparse.ArgumentParser) -> None:
    """--results."""
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIRECTORY",
                        help="where raw samples are kept (build/results)")


def linux(parser: argparse.ArgumentParser, default: str = patchset.DEFAULT) -> None:
    """--linux."""
    parser.add_argument("--linux", default=default, metavar="VERSION",
                        help=f"version of kernels whose names have none ({default or 'all'})")


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
