# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab test``: pytest with the words that choose guests."""

import argparse
import subprocess
import sys

from lab.commands import options
from lab.paths import REPO

HOST = ("lab", "experiments", "tests/test_host.py")
GUESTS = ("tests/test_faults.py", "tests/suites.toml")


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("--kernels", metavar="LIST", help="boot these instead of the usual ones")
    parser.add_argument("--suites", metavar="LIST",
                        help="run only guest suites whose names match these shell patterns")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--guests-only", action="store_true", help="run only the guest tests")
    only.add_argument("--host-only", action="store_true", help="boot no guests")
    options.linux(parser, "")
    parser.add_argument("more", nargs="*", help="other options of pytest, after --")


def run(arguments: argparse.Namespace) -> int:
    """Run the chosen tests."""
    where = GUESTS[1:] if arguments.suites else GUESTS
    if not arguments.guests_only:
        where = HOST if arguments.host_only else (*HOST, *where)
    given = [f"--{name}={value}" for name in ("kernels", "suites", "linux")
             if (value := getattr(arguments, name))]
    return subprocess.run([sys.executable, "-m", "pytest", "-q", *given, *arguments.more, *where],
                          cwd=REPO, check=False).returncode
