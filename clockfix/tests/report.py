# SPDX-License-Identifier: LGPL-2.1-or-later
"""What bench/report.py makes of samples."""

import json
import subprocess
import sys

SAMPLES = """interval_ns,rival,round,what,value,count
0,,0,stolen_ms,7,1
0,,0,priority,80,1
"""
# rival, CPU time of two rounds of 1,000 ns, lateness: how often
RIVALS = [
    ("poll", (900, 1000), [{20: 99, 1001: 1}, {-1: 1, 20: 99}]),
    ("clockfix", (100, 100), [{50: 98, 1000: 2}, {50: 96, 5000: 4}]),
    ("margin-60us", (90, 90), [{49: 100}, {49: 97, 5000: 3}]),
    ("margin-125us", (90, 110), [{49: 100}, {49: 97, 5000: 3}]),
]
for rival, cpu, rounds in RIVALS:
    for i, late in enumerate(rounds):
        SAMPLES += f"100000,{rival},{i},cpu,{cpu[i]},1\n100000,{rival},{i},elapsed,1000,1\n"
        SAMPLES += "".join(f"100000,{rival},{i},late,{ns},{n}\n" for ns, n in late.items())


def report(*words: str) -> str:
    """Its standard output."""
    return subprocess.run([sys.executable, sys.argv[1], *words], input=SAMPLES, text=True,
                          stdout=subprocess.PIPE, check=True).stdout


def expect(text: str, *wanted: str) -> None:
    """Each is a part of it, but for the width of columns."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    for part in wanted:
        if part not in lines:
            sys.exit(f"no line '{part}' in:\n{text}")


cell = json.loads(report("--json"))["cells"][1]
assert cell == {**cell, "rival": "clockfix", "jobs": 200, "p50": 50, "p95": 50, "p99": 5000,
                "max": 5000, "share_over_1us": 0.02, "cpu_share": 0.1}, cell
assert [cell["cdf"][i] for i in (0, 380, 400)] == [50, 50, 5000]
expect(report(), "poll 200 20 20 20 20 20 1001 0.500 0.500 95.0 100.0", "1 jobs were early",
       "less CPU time, a lower median and fewer late jobs than clockfix: margin-60us",
       "CPU time stolen by the hypervisor meanwhile: 7 ms (/proc/stat)")
expect(report("--markdown"), "| | 100 µs |", "| **job** | 50/5,000, 2.0 %, 10.0 % |")
