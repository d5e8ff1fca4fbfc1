#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Check that a library exports what its header declares, versioned, and nothing else."""

from __future__ import annotations

import re
import subprocess
import sys


def exported(library: str) -> set[str]:
    """Symbols with their version, as nm shows them."""
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                         capture_output=True, text=True).stdout
    return {line.split()[-1] for line in out.splitlines() if " A " not in line}


def declared(header: str) -> set[str]:
    """Functions that the header declares and does not define."""
    with open(header, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    names = re.findall(r"^(?!static)[a-z].*?\b(clockfix_\w+)\([^{}]*?\);", text, flags=re.M | re.S)
    return {name + "@@CLOCKFIX_1.0" for name in names}


def main() -> int:
    """Compare; say what is too much and what is missing."""
    have, want = exported(sys.argv[1]), declared(sys.argv[2])
    for name in sorted(have - want):
        print(f"exported, not declared: {name}")
    for name in sorted(want - have):
        print(f"declared, not exported: {name}")
    return int(have != want or len(want) < 10)


if __name__ == "__main__":
    sys.exit(main())
