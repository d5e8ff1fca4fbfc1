# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab figures``: measures the demo, and writes its table and picture into README.

``docs/figures.json`` keeps what it measured. In README it stands between
``<!-- figures: NAME -->`` and ``<!-- /figures -->``; nobody edits it by hand.
"""

import argparse
import io
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import matplotlib.pyplot as plt

from experiments.commands import demo
from kernel.tools import patchset
from lab.paths import REPO

KEPT = REPO / "docs" / "figures.json"
PICTURE = REPO / "docs" / "demo.svg"
README = REPO / "README.md"
# REUSE-IgnoreStart
SPDX = "<!-- SPDX-License-Identifier: GPL-2.0-or-later -->\n"
# REUSE-IgnoreEnd
COLOURS = ("<style>svg { color: #111; background: #fff } @media (prefers-color-scheme: dark) "
           "{ svg { color: #e6e6e6; background: #161616 } }</style>")
MARKED = re.compile(r"(<!-- figures: ([a-z-]+) -->)(.*?)(<!-- /figures -->)", re.DOTALL)
QUOTED = {
    "nothing": "nothing else",
    "timerfds": "1,000 timerfds of one unprivileged process",
    "threads": "50 unprivileged sleeping threads",
    "hogs": "two ordinary tasks that compute",
}
Figures = Mapping[str, Any]


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("--write-only", action="store_true",
                        help="write what has been measured into README and picture")


def run(arguments: argparse.Namespace) -> int:
    """Measure the demo with the module; write docs/ and README."""
    if not arguments.write_only:
        shown = demo.measure(module=True, linux=patchset.DEFAULT)
        KEPT.write_text(json.dumps(figures(shown), indent=1, ensure_ascii=False) + "\n")
    found = kept()
    PICTURE.write_text(f"{SPDX}{picture(found)}\n")
    README.write_text(written(README.read_text(), found))
    return 0


def figures(shown: demo.Shown) -> Figures:
    """What is quoted of a demo."""
    jobs, = re.findall(r"(\d+) times\s+in\s+each\s+turn", shown.text)
    return {"module": {"kernel": shown.kernel, "jobs": int(jobs), "rows": shown.rows}}


def kept() -> Figures:
    """What was measured last."""
    found: Figures = json.loads(KEPT.read_text())
    return found


def picture(found: Figures) -> str:
    """Median to maximum next to each load; so narrow that a phone's screen shows it readably."""
    module = found["module"]
    with plt.rc_context({"svg.hashsalt": "timershield", "svg.fonttype": "none", "font.size": 9}):
        figure, axes = plt.subplots(figsize=(5.2, 0.26 * len(module["rows"]) + 1),
                                    layout="constrained")
        for i, (p50, most, _) in enumerate(module["rows"].values()):
            for mode, y, face in ((0, i - 0.13, "none"), (1, i + 0.13, "#000000")):
                axes.plot([p50[mode], most[mode]], [y, y], color="#808080", linewidth=1)
                axes.plot([p50[mode]], [y], marker="o", color="#000000", markerfacecolor=face,
                          label=f"{('off', 'shielded')[mode]}, median (line to the maximum)"
                          if not i else None)
        axes.set_yticks(range(len(module["rows"])), list(module["rows"]))
        axes.invert_yaxis()
        axes.set_xlabel("response time in µs (axis does not begin at 0)")
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), fontsize=7.5)
        figure.suptitle(module["kernel"], x=0.01, ha="left", fontsize=8)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True,
                       metadata={"Date": None, "Creator": None})
        plt.close(figure)
    text = " ".join(buffer.getvalue().split())
    text = text[text.index("<svg"):].replace("<svg ", '<svg fill="currentColor" ', 1)
    text = re.sub(r"<metadata>.*?</metadata>", "", text.replace("#000000", "currentColor"))
    return re.sub(r"(<svg [^>]*>)", rf"\1{COLOURS}", text, count=1)


def written(text: str, found: Figures) -> str:
    """A text with the figures that its markers name."""
    return MARKED.sub(lambda m: m[1] + QUOTES[m[2]](found) + m[4], text)


def _table(found: Figures) -> str:
    def cell(values: list[float], unit: str = "", digits: str = ".1f") -> str:
        off, on = (f"{v:{digits}}" for v in values)
        return f"{off} → **{on}{unit}**" if off != on else f"{off}{unit}"

    head = ("a 1 kHz control loop, SCHED_FIFO 99, 300 µs of work, next to …",
            "response time, median", "longest", "interruptions per job")
    lines = [(title, cell(p50, " µs"), cell(most, " µs"), cell(interruptions, digits=".2g"))
             for title, (p50, most, interruptions) in (
                 (title, found["module"]["rows"][load]) for load, title in QUOTED.items())]
    first, *others = (f"| {' | '.join(line)} |\n" for line in (head, *lines))
    return f"\n{first}|{'---|' * len(head)}\n{''.join(others)}"


def _note(found: Figures) -> str:
    module = found["module"]
    return (f"\n(`make demo MODULE=1`: `timershield prove` on Debian's {module['kernel']}, the "
            f"module's shield off → on,\nin an emulator, {2 * module['jobs']:,} and "
            f"{module['jobs']} jobs.)\n")


QUOTES: Mapping[str, Callable[[Figures], str]] = {"table": _table, "note": _note}
