# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab deb``."""

import argparse
from pathlib import Path

from lab.commands import options
from lab.kernels import deb
from lab.progress import Progress


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("--config", type=Path, metavar="FILE",
                        help="configuration to start from (the running kernel's)")
    parser.add_argument("--local-modules", action="store_true",
                        help="build only modules that are loaded now, for this machine")
    options.linux(parser)


def run(arguments: argparse.Namespace) -> int:
    """Build, and print the packages."""
    with Progress() as progress:
        packages = deb.build(progress, arguments.config, arguments.local_modules, arguments.linux)
    for package in packages:
        print(package)
    print("install them with: apt-get install " + " ".join(map(str, packages)))
    return 0
