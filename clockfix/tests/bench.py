#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What clockfix-bench prints: a table for people, JSON for programs."""

import json
import subprocess
import sys


def bench(*words: str) -> str:
    """Its standard output."""
    return subprocess.run([*sys.argv[1:], "-q", "-p", "0", "-n", "20", "-R", "2", "-i", "100us,1ms",
                           *words], text=True, stdout=subprocess.PIPE, check=True).stdout


rows = [line.split() for line in bench().splitlines()]
assert [row[1] for row in rows if row and row[0] == "clockfix-sleep"] == ["20", "20"], rows
cells = json.loads(bench("--json", "-r", "poll,futex"))["cells"]
assert [(cell["rival"], cell["interval"]) for cell in cells] == [
    (rival, interval) for interval in (100_000, 1_000_000) for rival in ("poll", "futex")], cells
for cell in cells:
    late = cell["cdf"]
    assert (cell["jobs"], len(late)) == (20, 401), cell
    assert late == sorted(late), late
    assert [late[0], late[200], late[400]] == [cell["p1"], cell["p50"], cell["max"]], cell
    over = sum(late[round(400 * i / 19)] > 1000 for i in range(20))
    assert cell["share_over_1us"] == over / 20, cell
    assert 0 < cell["cpu_share"] <= 1.05, cell
