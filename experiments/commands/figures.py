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
from experiments.commands import demo
from experiments.common import compare
from experiments.report.stats import summarize
from experiments.response_loop import bound
from experiments.response_time import experiment as response_time
from experiments.response_time import section
from kernel.tools import patchset
from lab.commands import test as lab_test
from lab.errors import LabError
from lab.kernels.kernels import Kernel
from lab.measure.results import Measured
from lab.paths import REPO
from lab.runner.boots import KEPT as OUTPUTS

KEPT = REPO / "docs" / "figures.json"
PICTURE = REPO / "docs" / "demo.svg"
TEXTS = tuple(REPO / t for t in ("README.md", "docs/module.md", "docs/bound.md",
                                 "experiments/README.md"))
MODULES = ("debian12/6.1-module", "debian12/6.12-module", "debian12/6.12-rt-module",
           "debian13/7.3-module", "debian13/7.3-rt-module")
# REUSE-IgnoreStart
SPDX = "<!-- SPDX-License-Identifier: GPL-2.0-or-later -->\n"
# REUSE-IgnoreEnd
COLOURS = ("<style>svg { color: #111; background: #fff } @media (prefers-color-scheme: dark) "
           "{ svg { color: #e6e6e6; background: #161616 } }</style>")
MARKED = re.compile(r"(<!-- figures: ([a-z-]+) -->)(.*?)(<!-- /figures -->)", re.DOTALL)
QUOTED = {
    demo.WORST: "1,000 timerfds of one unprivileged process",
    "threads-200": "200 unprivileged sleeping threads",
    "sync-100": "100 FIFO 70 tasks that wake at the same time (`kernel.timershield=2`)",
}
Figures = Mapping[str, Any]


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("--write-only", action="store_true",
                        help="write what has been measured into the texts; measure nothing")


def run(arguments: argparse.Namespace) -> int:
    """Measure Debian's kernels without and with the module; write docs/ and the texts."""
    if not arguments.write_only:
        shown = demo.measure(module=True, linux=patchset.DEFAULT)
        found = {"module": figures(shown.off, shown.on), "cost": costs()}
        KEPT.write_text(papers.as_json(found))
        (platform, modes), = compare.platforms(shown.store).items()
        picture, = section.overview(platform, modes, ())
        PICTURE.write_text(SPDX + alone(picture.svg) + "\n")
    write(kept())
    return 0


def alone(svg: str) -> str:
    """A picture on one line that no page gives its colours."""
    return re.sub(r"(<svg [^>]*>)", rf"\1{COLOURS}", " ".join(svg.split()), count=1)


def kept() -> Figures:
    """All that the texts may quote."""
    return {**json.loads(KEPT.read_text()), "measured": papers.saved()}


def costs() -> Figures:
    """Instructions without the module and with levels: what the suite ``cost`` prints."""
    if lab_test.run(argparse.Namespace(kernels=",".join(MODULES), suites="cost-levels", linux="",
                                       guests_only=True, host_only=False, more=[])):
        raise LabError("the suite cost-levels failed")
    found = {}
    for kernel in map(Kernel.parse, MODULES):
        release = re.sub(r"\+deb\d+|-amd64\n", "", (kernel.build / "release").read_text())
        text = (OUTPUTS / kernel.name / "cost-levels" / "output.txt").read_text()
        found[release] = {what: f"{off} → {on}" for what, off, on in re.findall(
            r"^# (.+): unloaded (\d+), off \d+, on (\d+),", text, re.MULTILINE)}
    return found


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
    module = found["module"]

    def cells(name: str, unit: str, key: str) -> str:
        off, on = (f"{module[name][mode][key]:.2g}" if key == "interruptions"
                   else f"{module[name][mode][key]:.1f}" for mode in ("off", "on"))
        return f"{off} → **{on}{unit}**" if off != on else f"{off}{unit}"

    return markdown(
        ["a 1 kHz control loop, SCHED_FIFO 99, 300 µs of work, next to …",
         "response time, median", "longest", "interruptions per job"],
        [[title, cells(name, " µs", "p50"), cells(name, " µs", "max"),
          cells(name, "", "interruptions")] for name, title in QUOTED.items()])


def _costs(found: Figures) -> str:
    cost = found["cost"]
    return markdown(["without → with", *cost],
                     [[what, *(c[what] for c in cost.values())]
                      for what in next(iter(cost.values()))])


def _note(found: Figures) -> str:
    module = found["module"]
    idle = module["none"]
    return (f"\n(`make demo MODULE=1`: Debian's {module['kernel']}, without → with the module, in "
            f"an emulator,\n{module['jobs']} jobs each. With no other tasks a job takes "
            f"{idle['off']['p50']:.1f} µs, and {idle['on']['p50']:.1f} with the module.)\n")


def _slower(found: Figures) -> str:
    module = found["module"]
    return f"{module[demo.WORST]['off']['p50'] / module['none']['off']['p50'] - 1:.0%}".replace(
        "%", " %")


def _cost(found: Figures) -> str:
    idle = found["module"]["none"]
    return f"{idle['on']['p50'] - idle['off']['p50']:.1f} µs"


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
    "table": _table, "note": _note, "slower": _slower, "cost": _cost, "costs": _costs,
    "measured-at": lambda found: _words(found, "response-time", "No job is", "at"),
    "text": _claimed("code-size", "more code", r"\((.+)\)"),
    "held-tick": lambda _: f"{_counted().held_tick:,}",
    "held-switch": lambda _: f"{_counted().switch:,}",
    "bound": _claimed("bounds", "No job loses", r"of ([\d,]+) ns"),
    "lost": _claimed("bounds", "No job loses", r"\+([\d,]+)"),
}
