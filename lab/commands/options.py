# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that several commands have."""

import argparse

from kernel.tools import patchset


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


def linux(parser: argparse.ArgumentParser, default: str = patchset.DEFAULT) -> None:
    """--linux."""
    parser.add_argument("--linux", default=default, metavar="VERSION",
                        help=f"version of kernels whose names have none ({default or 'all'})")
