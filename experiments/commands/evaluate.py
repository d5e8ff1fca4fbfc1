# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab evaluate``: all experiments, on all kernels, into one report."""

import argparse
import functools
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from experiments import registry
from experiments.commands import options, report
from experiments.common.experiment import Context
from experiments.measure.results import Store
from lab.kernels import platforms
from lab.paths import BUILD
from lab.progress import Progress

DIRECTORY = BUILD / "evaluation"
TITLE = "TimerShield: the papers' evaluation"
INTRODUCTION = [
    "Every figure and table of the papers again, on stock and shielded kernels. The table says "
    "what is claimed, what the paper measured, and what came out here; a missed goal is called "
    "missed. Each section says why our figures differ from the paper's.",
    "The papers measured real machines (Intel i5 at 3.2 GHz and Raspberry Pi 3, Linux 4.4 and 4.6 "
    "with PREEMPT_RT). Guest figures here count instructions, one a nanosecond, on one virtual "
    "CPU unless said otherwise: exact and repeatable, without caches and without what an interrupt "
    "costs in hardware. They compare kernels with each other, not with a real machine.",
]


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("experiment", nargs="*", help="run only these; draw all")
    parser.add_argument("--draw-only", action="store_true",
                        help="run nothing; draw the report from the samples that exist")
    options.measured(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure and draw."""
    if arguments.draw_only:
        return draw(arguments.results, {})
    with Progress() as progress:
        context = Context(
            progress=progress, root=arguments.results,
            platforms=platforms.platforms(arguments.kernels, arguments.linux),
            jobs=100 if arguments.quick else 1000, quick=arguments.quick,
            parallel=arguments.guests,
        )
        return measure(context, progress.step, arguments.experiment)


def measure(
    context: Context, say: Callable[[str], None], names: Sequence[str] = (),
    directory: Path = DIRECTORY,
) -> int:
    """Run everything, or ``names``; one that fails leaves the others' results in place."""
    chosen = [registry.find(n) for n in names] or [
        e for e in registry.EXPERIMENTS if not e.on_request]
    failed = {}
    for number, experiment in enumerate(chosen):
        say(f"{number + 1} of {len(chosen)}: {experiment.name}")
        try:
            error = report.failure(functools.partial(experiment.run, context))
        except KeyboardInterrupt:
            left = " ".join(e.name for e in chosen[number:])
            print(f"interrupted in {experiment.name}. What was measured before stays: "
                  f"'lab/lab evaluate --draw-only' draws it; 'lab/lab evaluate {left}' measures "
                  "the rest, given the same options")
            raise
        if error:
            say(f"{experiment.name}: {error}")
            failed[experiment.name] = error
    return draw(context.root, failed, directory)


def draw(root: Path, failed: dict[str, str], directory: Path = DIRECTORY) -> int:
    """Write report.html and results.json from what there is; return the exit status."""
    damaged = report.write(root, directory / "report.html", TITLE, INTRODUCTION, failed)
    bad = {**damaged, **failed}
    summary = {"failed": bad, "experiments": {
        e.name: {"title": e.title,
                 "claims": [asdict(c) | {"verdict": c.verdict} for c in e.judged(store)],
                 "systems": {s.name: s.meta for s in store}}
        for e in registry.EXPERIMENTS
        if e.name not in damaged and (store := Store(root, e.name)).systems()}}
    temporary = directory / "results.new"
    temporary.write_text(json.dumps(summary, indent=1) + "\n")
    os.replace(temporary, directory / "results.json")
    print(directory / "report.html")
    for name in bad:
        print(f"failed: {name}")
    return 1 if bad else 0
