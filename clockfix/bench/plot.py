#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draw the CDFs that clockfix-bench wrote, a panel per interval."""

from __future__ import annotations

import json
import sys
from typing import Any

USAGE = "usage: plot.py RESULTS.json FIGURE.(svg|png|pdf)"


def draw(results: dict[str, Any], path: str) -> None:
    """Write one figure: lateness on a logarithmic axis, share of jobs on the other."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    cells = results["cells"]
    intervals = sorted({cell["interval"] for cell in cells})
    rivals = list(dict.fromkeys(cell["rival"] for cell in cells))
    colours = pyplot.get_cmap("tab20")
    columns = min(3, len(intervals))
    rows = -(-len(intervals) // columns)
    figure, axes = pyplot.subplots(
        rows, columns, figsize=(5 * columns, 3.6 * rows), squeeze=False, sharey=True
    )
    for axis in axes.flat[len(intervals):]:
        axis.set_visible(False)
    for axis, interval in zip(axes.flat, intervals, strict=False):
        for cell in cells:
            if cell["interval"] != interval or not cell["jobs"]:
                continue
            cdf = cell["cdf"]
            share = [i / (len(cdf) - 1) for i in range(len(cdf))]
            label = f"{cell['rival']} ({100 * cell['cpu_share']:.0f} % CPU)"
            axis.plot([max(value, 1) for value in cdf], share, label=label, linewidth=1.2,
                      color=colours(rivals.index(cell["rival"]) % 20))
        axis.set_xscale("log")
        axis.set_title(f"every {interval / 1000:g} µs")
        axis.set_xlabel("lateness [ns]")
        axis.grid(True, which="major", alpha=0.3)
        axis.legend(fontsize=6, loc="lower right")
    for row in axes:
        row[0].set_ylabel("share of jobs")
    figure.tight_layout()
    figure.savefig(path)


def main() -> int:
    """Read, draw, and say what is missing where something is."""
    if len(sys.argv) != 3:
        print(USAGE, file=sys.stderr)
        return 2
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            results = json.load(file)
        draw(results, sys.argv[2])
    except ImportError:
        print("plot.py: to draw, install python3-matplotlib", file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        print(f"plot.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
