#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Count with callgrind what each queue executes, and print it beside stock's.

A batch's own loop, three to five instructions an operation, is included; it is
the same for all.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

DESCRIPTION = re.compile(r"^desc: Trigger: Client Request: (\w+) (\d+) (\w+) (\S+) (\d+)$", re.M)
TOTALS = re.compile(r"^(?:totals|summary): (\d+)", re.M)
STOCK = "timerqueue"


class Load(NamedTuple):
    """What was counted."""

    operation: str
    timers: int
    levels: str


def collect(program: Path, work: Path) -> dict[Load, dict[str, float]]:
    """Run ``program`` under callgrind; instructions an operation by load and queue."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    command = ["valgrind", "--tool=callgrind", "--collect-atstart=no"]
    command += [f"--callgrind-out-file={work}/out", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"instructions: callgrind failed:\n{done.stderr}")

    counts: dict[Load, dict[str, float]] = {}
    for dump in work.glob("out.*"):
        text = dump.read_text()
        what, totals = DESCRIPTION.search(text), TOTALS.search(text)
        if what and totals:
            operation, timers, levels, queue, operations = what.groups()
            load = Load(operation, int(timers), levels)
            counts.setdefault(load, {})[queue] = int(totals[1]) / int(operations)
    if not counts:
        sys.exit(f"instructions: no counts in {work}")
    return counts


def main() -> None:
    """Print a table for each number of timers and spread of levels."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("work", type=Path, help="directory for callgrind's output")
    given = parser.parse_args()
    counts = collect(given.program, given.work)

    operations = list(dict.fromkeys(load.operation for load in counts))
    order = ["dequeue", "enqueue", "query", "pop", "serve"]
    operations.sort(key=order.index)
    print("Instructions of one operation, and the ratio to stock timerqueue's")
    for timers, levels in sorted({(load.timers, load.levels) for load in counts}):
        plural = "s" if timers > 1 else ""
        print(f"\n{timers} timer{plural}, {levels} level{'s' if levels == 'many' else ''}")
        print(f"{'queue':14}" + "".join(f"{operation:>16}" for operation in operations))
        queues = counts[Load(operations[0], timers, levels)]
        for queue in sorted(queues, key=lambda name: name != STOCK):
            line = f"{queue:14}"
            for operation in operations:
                load = counts[Load(operation, timers, levels)]
                line += f"{load[queue]:9.1f} {load[queue] / load[STOCK]:6.2f}"
            print(line)


if __name__ == "__main__":
    main()
