#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Percentiles of what clockfix-bench prints: a table, Markdown, JSON or a chart."""

import argparse
import csv
import json
import math
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

POINTS = 400
"""Of a distribution in JSON, and one more."""
LABELS = {
    "poll": "polling loop", "clock_nanosleep": "clock_nanosleep()", "nanosleep": "nanosleep()",
    "futex": "futex wait", "margin-60us": "fixed margin of 60 µs",
    "margin-125us": "fixed margin of 125 µs", "mean-deviation": "mean + 2 deviations",
    "filter-none": "the paper's worker without learning", "filter-average": "the paper's average",
    "filter-max": "the paper's maximum of 64, in our worker", "spin_sleep": "spin_sleep 1.3.3",
    "clockfix": "**job**", "clockfix-sleep": "**sleep-until**",
    **{f"clockfix-1in{n}": f"job, 1 in {n}" for n in (10, 1000)},
}


class Cell:
    """One rival at one interval."""

    def __init__(self, interval: int, rival: str) -> None:
        self.interval, self.rival = interval, rival
        self.rounds: dict[str, Counter[int]] = {}
        self.spent: dict[str, dict[str, int]] = {"cpu": {}, "elapsed": {}}

    def count(self) -> "Cell":
        """When all lines are there."""
        late: Counter[int] = sum(self.rounds.values(), Counter())
        self.values = sorted(late.elements())
        self.over = over(late)
        shares = [over(r) for r in self.rounds.values()]
        self.error = statistics.stdev(shares) / math.sqrt(len(shares)) if shares[1:] else 0.0
        cpu, elapsed = self.spent["cpu"], self.spent["elapsed"]
        self.cpu = sum(cpu.values()) / max(sum(elapsed.values()), 1)
        self.most = max((cpu[i] / max(elapsed[i], 1) for i in cpu), default=0.0)
        return self

    @property
    def ours(self) -> bool:
        """Whether it is the library's."""
        return self.rival.startswith("clockfix")

    def at(self, share: float) -> int:
        """The value that a share of all does not exceed, by nearest rank."""
        return self.values[int((len(self.values) - 1) * share)]

    def beats(self, other: "Cell") -> bool:
        """In CPU time, median and share of late jobs."""
        return (self.cpu < other.cpu and self.at(0.5) < other.at(0.5)
                and self.over < other.over)


def over(late: Counter[int]) -> float:
    """The share that is more than 1 us late."""
    return sum(n for ns, n in late.items() if ns > 1000) / late.total()


def read(files: Sequence[Iterable[str]]) -> tuple[dict[str, int], list[Cell]]:
    """What is known of the runs, and their cells that have samples."""
    run: dict[str, int] = {"stolen_ms": 0}
    cells: dict[tuple[int, str], Cell] = {}
    for i, file in enumerate(files):
        for line in csv.DictReader(file):
            interval, rival, what = int(line["interval_ns"]), line["rival"], line["what"]
            value, number = int(line["value"]), f"{i}.{line['round']}"
            if not rival:
                run[what] = value + (run[what] if what == "stolen_ms" else 0)
                continue
            cell = cells.setdefault((interval, rival), Cell(interval, rival))
            if what == "late":
                cell.rounds.setdefault(number, Counter())[value] += int(line["count"])
            else:
                cell.spent[what][number] = value
    return run, [cell.count() for cell in cells.values() if cell.rounds]


def length(ns: int) -> str:
    """As people write it."""
    return f"{ns / 1e6:g} ms" if ns >= 1_000_000 else f"{ns / 1e3:g} µs"


def table(run: dict[str, int], cells: list[Cell]) -> None:
    """For a terminal."""
    print("Lateness in ns; >1us: percent of jobs more than 1 us late, with the standard error by "
          "rounds;\ncpu: of the waiting thread, in percent; most: of one round. No sample was "
          "removed.")
    for interval, group in groupby(cells, lambda c: c.interval):
        here = list(group)
        print(f"\n{length(interval):18} {'jobs':>8} {'p1':>7} {'p50':>7} {'p95':>7} {'p99':>8} "
              f"{'p99.9':>8} {'max':>9} {'>1us':>8} {'+-':>6} {'cpu':>6} {'most':>6}")
        for c in here:
            print(f"{c.rival:18} {len(c.values):8} {c.at(.01):7} {c.at(.5):7} {c.at(.95):7} "
                  f"{c.at(.99):8} {c.at(.999):8} {c.at(1):9} {100 * c.over:8.3f} "
                  f"{100 * c.error:6.3f} {100 * c.cpu:6.1f} {100 * c.most:6.1f}")
            if c.at(0) < 0:
                print(f"  {sum(ns < 0 for ns in c.values)} jobs were early")
        for ours in (c for c in here if c.rival == "clockfix"):
            better = [c.rival for c in here if c.beats(ours) and not c.ours]
            print("less CPU time, a lower median and fewer late jobs than clockfix: "
                  + (", ".join(better) or "none"))
    print(f"\nCPU time stolen by the hypervisor meanwhile: {run['stolen_ms']} ms (/proc/stat)")


def markdown(cells: list[Cell]) -> None:
    """A row for each rival: p50/p99 in ns, share later than 1 us, CPU time."""
    found = {(c.rival, c.interval): c for c in cells}
    intervals = sorted({c.interval for c in cells})
    print("|", *(f"| {length(i)}" for i in intervals), "|")
    print("|---" * (len(intervals) + 1) + "|")
    for rival in dict.fromkeys(c.rival for c in cells):
        row = [f"{c.at(.5):,}/{c.at(.99):,}, {c.over:.1%}, {c.cpu:.1%}".replace("%", " %")
               if (c := found.get((rival, i))) else "" for i in intervals]
        print(f"| {LABELS[rival]} |", " | ".join(row), "|")


def chart(cells: list[Cell], path: str) -> None:
    """For each interval, median by CPU time."""
    import matplotlib as mpl  # the table needs none

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "clockfix", "svg.fonttype": "none"})
    from matplotlib import pyplot as plt

    intervals = sorted({c.interval for c in cells})
    rivals = [rival for rival in LABELS if rival in {c.rival for c in cells}]
    figure, axes = plt.subplots(1, len(intervals), figsize=(2.5 * len(intervals), 3.2),
                                sharex=True, sharey=True, squeeze=False)
    for ax, interval in zip(axes[0], intervals, strict=True):
        for c in cells:
            if c.interval == interval:
                ax.plot(100 * c.cpu, c.at(0.5), "o" if c.ours else "x",
                        color=f"C{rivals.index(c.rival) % 10}", label=LABELS[c.rival].strip("*"))
        ax.set(title=f"every {length(interval)}", xscale="log", yscale="log",
               xlabel="CPU time in percent")
        ax.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    axes[0][0].set_ylabel("median lateness in ns")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="upper center",
                  bbox_to_anchor=(0.5, -0.02), ncols=5, fontsize="small")
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")


def as_json(run: dict[str, int], cells: list[Cell]) -> None:
    """For programs."""
    json.dump({"unit": "ns", "fifo_priority": run["priority"], "stolen_ms": run["stolen_ms"],
               "cells": [{
                   "interval": c.interval, "rival": c.rival, "jobs": len(c.values),
                   "p1": c.at(.01), "p50": c.at(.5), "p95": c.at(.95), "p99": c.at(.99),
                   "p99.9": c.at(.999), "max": c.at(1), "share_over_1us": c.over,
                   "cpu_share": c.cpu, "cdf": [c.at(i / POINTS) for i in range(POINTS + 1)],
               } for c in cells]}, sys.stdout)


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="*", default=[sys.stdin], type=argparse.FileType(),
                        help="of one run or more (default: standard input)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--markdown", action="store_true", help="a row for each rival")
    how.add_argument("--json", action="store_true", help="with distributions")
    how.add_argument("--chart", metavar="FILE", help="median by CPU time, as SVG; "
                     "needs matplotlib")
    args = parser.parse_args()
    run, cells = read(args.file)
    if not cells:
        print("clockfix-bench-report: no samples", file=sys.stderr)
        return 1
    if args.markdown:
        markdown(cells)
    elif args.json:
        as_json(run, cells)
    elif args.chart:
        chart(cells, args.chart)
    else:
        table(run, cells)
    return 0


if __name__ == "__main__":
    sys.exit(main())
