# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab figures``: measures what README quotes, and writes the numbers and the picture into it.

``docs/figures.json`` keeps what was measured. In a text the figures stand between
``<!-- figures: NAME -->`` and ``<!-- /figures -->``; nobody edits them by hand.
"""

import argparse
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from experiments.common import compare
from experiments.response_time import experiment as response_time
from experiments.response_time import section
from kernel.tools import patchset
from lab.commands import demo
from lab.measure.results import Measured
from lab.paths import REPO
from lab.report.stats import summarize

KEPT = REPO / "docs" / "figures.json"
PICTURE = REPO / "docs" / "demo.svg"
TEXTS = (REPO / "README.md",)
# REUSE-IgnoreStart
SPDX = "<!-- SPDX-License-Identifier: GPL-2.0-or-later -->\n"
# REUSE-IgnoreEnd
MARKED = re.compile(r"(<!-- figures: ([a-z-]+) -->)(.*?)(<!-- /figures -->)", re.DOTALL)
QUOTED = {
    demo.WORST: "1,000 timerfds of one unprivileged process",
    "threads-200": "200 unprivileged sleeping threads",
    "sync-100": "100 FIFO 70 tasks that wake at the same time",
}
Figures = Mapping[str, Any]


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("--write-only", action="store_true",
                        help="write what docs/figures.json has into the texts; measure nothing")


def run(arguments: argparse.Namespace) -> int:
    """Measure Debian's kernel without and with the module; write docs/ and the texts."""
    if not arguments.write_only:
        shown = demo.measure(module=True, linux=patchset.DEFAULT)
        kept = {"module": figures(shown.off, shown.on)}
        KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
        (platform, modes), = compare.platforms(shown.store).items()
        picture, = section.overview(platform, modes, ())
        PICTURE.write_text(SPDX + picture.svg + "\n")
    write(json.loads(KEPT.read_text()))
    return 0


def figures(off: Measured, on: Measured) -> Figures:
    """What is quoted of a demo: µs, interruptions a job."""
    def row(system: Measured, scenario: str) -> dict[str, float]:
        jobs = system.table(scenario, "jobs")
        found = summarize(jobs["response_ns"])
        return {"p50": round(found.p50 / 1000, 1), "max": round(found.maximum / 1000, 1),
                "interruptions": round(float(jobs["interruptions"].mean()), 3)}

    return {
        "kernel": " ".join(off.meta["kernel"].split()[:2]),
        "jobs": len(off.table("none", "jobs")["response_ns"]),
        **{name: {"off": row(off, name), "on": row(on, name)} for name in response_time.DEMO},
    }


def write(kept: Figures, texts: tuple[Path, ...] = TEXTS) -> None:
    """Put the figures into every text that quotes them."""
    for path in texts:
        path.write_text(written(path.read_text(), kept))


def written(text: str, kept: Figures) -> str:
    """A text with the figures that its markers name."""
    return MARKED.sub(lambda m: m[1] + QUOTES[m[2]](kept["module"]) + m[4], text)


def _table(module: Figures) -> str:
    def cells(name: str, unit: str, key: str) -> str:
        off, on = (f"{module[name][mode][key]:.2g}" if key == "interruptions"
                   else f"{module[name][mode][key]:.1f}" for mode in ("off", "on"))
        return f"{off} → **{on}{unit}**" if off != on else f"{off}{unit}"

    rows = [f"| {title} | {cells(name, ' µs', 'p50')} | {cells(name, ' µs', 'max')} "
            f"| {cells(name, '', 'interruptions')} |" for name, title in QUOTED.items()]
    return "\n".join([
        "",
        "| a 1 kHz control loop, SCHED_FIFO 99, 300 µs of work, next to … "
        "| response time, median | longest | interruptions per job |",
        "|---|---|---|---|", *rows, ""])


def _note(module: Figures) -> str:
    idle = module["none"]
    return (f"\n(`make demo MODULE=1`: Debian's {module['kernel']}, without → with the module, in "
            f"an emulator,\n{module['jobs']} jobs each. With no other tasks a job takes "
            f"{idle['off']['p50']:.1f} µs, and {idle['on']['p50']:.1f} with the module.)\n")


def _slower(module: Figures) -> str:
    return f"{module[demo.WORST]['off']['p50'] / module['none']['off']['p50'] - 1:.0%}".replace(
        "%", " %")


def _cost(module: Figures) -> str:
    return f"{module['none']['on']['p50'] - module['none']['off']['p50']:.1f} µs"


QUOTES: Mapping[str, Callable[[Figures], str]] = {
    "table": _table, "note": _note, "slower": _slower, "cost": _cost,
}
