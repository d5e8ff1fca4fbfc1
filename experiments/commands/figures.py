# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab figures``: measures what README and docs/ quote; writes the numbers and a picture there.

``docs/figures.json`` keeps what it measured, ``experiments/measured.json`` what an evaluation
found. In a text their figures stand between ``<!-- figures: NAME -->`` and ``<!-- /figures -->``;
nobody edits them by hand.
"""

import argparse
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from experiments import papers
from experiments.bounds import bound
from experiments.commands import demo
from experiments.report import plots
from kernel.tools import patchset
from lab.paths import REPO

KEPT = REPO / "docs" / "figures.json"
PICTURE = REPO / "docs" / "demo.svg"
TEXTS = tuple(REPO / t for t in ("README.md", "docs/bound.md"))
# REUSE-IgnoreStart
SPDX = "<!-- SPDX-License-Identifier: GPL-2.0-or-later -->\n"
# REUSE-IgnoreEnd
COLOURS = ("<style>svg { color: #111; background: #fff } @media (prefers-color-scheme: dark) "
           "{ svg { color: #e6e6e6; background: #161616 } }</style>")
MARKED = re.compile(r"(<!-- figures: ([a-z-]+) -->)(.*?)(<!-- /figures -->)", re.DOTALL)
TIMERFDS = "1,000 timerfds"
QUOTED = {
    "nothing": "nothing else",
    TIMERFDS: "1,000 timerfds of one unprivileged process",
    "50 sleeping threads": "50 unprivileged sleeping threads",
    "100 synchronized FIFO sleepers":
        "100 FIFO 70 tasks that wake at the same time (`kernel.timershield=2`)",
    "2 CPU hogs": "two ordinary tasks that compute",
}
Figures = Mapping[str, Any]


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("--write-only", action="store_true",
                        help="write what has been measured into texts and picture; measure nothing")


def run(arguments: argparse.Namespace) -> int:
    """Measure the demo with the module; write docs/ and the texts."""
    if not arguments.write_only:
        shown = demo.measure(module=True, linux=patchset.DEFAULT)
        KEPT.write_text(papers.as_json({"module": figures(shown)}))
    found = kept()
    PICTURE.write_text(SPDX + alone(picture(found["module"])) + "\n")
    write(found)
    return 0


def figures(shown: demo.Shown) -> Figures:
    """What is quoted of a demo."""
    jobs, = re.findall(r"(\d+) times in each turn", shown.text)
    return {"kernel": shown.kernel, "jobs": int(jobs), "rows": shown.rows}


def picture(module: Figures) -> str:
    """Median to maximum next to each load; so narrow that a phone's screen shows it readably."""
    bars = [plots.Bars(title, {"off": (p50[0], most[0]), "shielded": (p50[1], most[1])})
            for title, (p50, _, most, _) in module["rows"].items()]
    return plots.ranges(bars, "response time in µs", "demo", module["kernel"], width=5.2)


def alone(svg: str) -> str:
    """A picture on one line that no page gives its colours."""
    return re.sub(r"(<svg [^>]*>)", rf"\1{COLOURS}", " ".join(svg.split()), count=1)


def kept() -> Figures:
    """All that the texts may quote."""
    return {**json.loads(KEPT.read_text()), "measured": papers.saved()}


def write(found: Figures) -> None:
    """Put the figures into every text that quotes them."""
    for path in TEXTS:
        path.write_text(written(path.read_text(), found))


def written(text: str, found: Figures) -> str:
    """A text with the figures that its markers name."""
    return MARKED.sub(lambda m: m[1] + QUOTES[m[2]](found) + m[4], text)


def markdown(head: list[str], lines: list[list[str]]) -> str:
    """A table, as it stands between two markers."""
    first, *others = ("| " + " | ".join(line) + " |\n" for line in [head, *lines])
    return f"\n{first}|{'---|' * len(head)}\n{''.join(others)}"


def _table(found: Figures) -> str:
    def cell(values: list[float], unit: str = "", digits: str = ".1f") -> str:
        off, on = (f"{v:{digits}}" for v in values)
        return f"{off} → **{on}{unit}**" if off != on else f"{off}{unit}"

    return markdown(
        ["a 1 kHz control loop, SCHED_FIFO 99, 300 µs of work, next to …",
         "response time, median", "longest", "interruptions per job"],
        [[title, cell(p50, " µs"), cell(most, " µs"), cell(interruptions, digits=".2g")]
         for title, (p50, _, most, interruptions) in (
             (title, found["module"]["rows"][load]) for load, title in QUOTED.items())])


def _note(found: Figures) -> str:
    module = found["module"]
    return (f"\n(`make demo MODULE=1`: `timershield prove` on Debian's {module['kernel']}, the "
            f"module's shield off → on,\nin an emulator, {2 * module['jobs']:,} and "
            f"{module['jobs']} jobs.)\n")


def _claimed(experiment: str, claim: str, pattern: str) -> Callable[[Figures], str]:
    """What an evaluation found, as its claim's words have it."""
    def quote(found: Figures) -> str:
        words = _words(found, experiment, claim)
        match = re.search(pattern, words)
        assert match, f"{experiment}: no {pattern} in: {words}"
        return match[1]

    return quote


def _counted() -> bound.Constants:
    """The constants of docs/bound.md."""
    return bound.COUNTED["6.12", "x86_64", "preempt"]


def _words(found: Figures, experiment: str, claim: str, of: str = "found") -> str:
    text: str = next(c[of] for c in found["measured"][experiment]["claims"]
                     if c["where"] == "x86_64-preempt" and claim in c["text"])
    return text


QUOTES: Mapping[str, Callable[[Figures], str]] = {
    "table": _table, "note": _note,
    "held-tick": lambda _: f"{_counted().held_tick:,}",
    "held-switch": lambda _: f"{_counted().switch:,}",
    "bound": _claimed("bounds", "No job loses", r"of ([\d,]+) ns"),
    "lost": _claimed("bounds", "No job loses", r"\+([\d,]+)"),
}
