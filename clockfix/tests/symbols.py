#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Check that the libraries export what their header declares, and nothing else.

usage: symbols.py SHARED-LIBRARY ARCHIVE HEADER
"""

from __future__ import annotations

import re
import subprocess
import sys


def exported(library: str, *options: str) -> set[str]:
    """Symbols; of a shared library with @@, which means that they have a version of ours."""
    out = subprocess.run(["nm", "--defined-only", *options, library], check=True,
                         capture_output=True, text=True).stdout
    return {re.sub(r"@@CLOCKFIX_1\.\d$", "@@", line.split()[-1])
            for line in out.splitlines() if " A " not in line and " " in line}


def declared(header: str) -> set[str]:
    """Functions that the header declares and does not define."""
    with open(header, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    names = re.findall(r"^(?!static)[a-z].*?\b(clockfix_\w+)\([^{}]*?\);", text, flags=re.M | re.S)
    return set(names)


def main() -> int:
    """Compare; say what is too much and what is missing."""
    shared, archive, header = sys.argv[1:]
    names = declared(header)
    wrong = len(names) < 10
    for have, want in ((exported(shared, "-D"), {name + "@@" for name in names}),
                       (exported(archive, "-g"), names)):
        for name in sorted(have - want):
            print(f"exported, not declared: {name}")
        for name in sorted(want - have):
            print(f"declared, not exported: {name}")
        wrong |= have != want
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
