#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Pass on what the test programs print and add up "N passed, N failed"."""

import re
import sys

COUNT = re.compile(r"^(\w+): (\d+) passed, (\d+) failed$")
PROGRAMS = {"unit", "property", "corpus", "rivals", "mutation"}


def main() -> int:
    """A program that never said how many passed has crashed: that is a failure, too."""
    passed = failed = 0
    reported = set()
    for line in sys.stdin:
        count = COUNT.match(line)
        if not count:
            print(line, end="", flush=True)
            continue
        reported.add(count[1])
        passed += int(count[2])
        failed += int(count[3])
    for program in sorted(PROGRAMS - reported):
        print(f"FAILED {program}: ended before its summary")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
