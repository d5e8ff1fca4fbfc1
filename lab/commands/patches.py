# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab patches``."""

import argparse

from lab.commands import options
from lab.kernels import kernels, platforms
from lab.progress import Progress
from lab.runner import patch_check


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("--platform", default="x86_64-preempt", metavar="ARCH-FLAVOUR")
    parser.add_argument("--style-only", action="store_true", help="checkpatch only")
    options.linux(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check, and count."""
    [platform] = platforms.platforms([arguments.platform], arguments.linux)
    with Progress() as progress:
        stock = kernels.stock_tree(progress, platform.linux)
        found = patch_check.style(stock, platform.linux)
        if not arguments.style_only:
            found |= patch_check.new_warnings(progress, platform)
            found |= patch_check.each_builds(stock, progress, platform)
        for name, wrong in found.items():
            progress.step(f"FAILED  {name}: {wrong}" if wrong else f"ok      {name}")
    failed = sum(map(bool, found.values()))
    print(f"{len(found) - failed} passed, {failed} failed")
    return 1 if failed else 0
