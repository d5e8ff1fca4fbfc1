# SPDX-License-Identifier: GPL-2.0-or-later
"""All experiments, on all kernels, into one report."""

import json
import os
from collections.abc import Callable

from lab import report
from lab.errors import LabError
from lab.experiments import registry
from lab.experiments.base import Context
from lab.paths import BUILD
from lab.results import Store

DIRECTORY = BUILD / "evaluation"


def run(context: Context, say: Callable[[str], None]) -> int:
    """Run everything; an experiment that fails leaves the others' results in place."""
    failed = []
    for experiment in registry.EXPERIMENTS:
        try:
            experiment.run(context)
        except LabError as error:
            say(f"{experiment.name}: {error}")
            failed.append(experiment.name)
    report.write(context.root, DIRECTORY / "report.html", "TimerShield: the papers' evaluation")
    _write_json(context, failed)
    print(DIRECTORY / "report.html")
    for name in failed:
        print(f"failed: {name}")
    return 1 if failed else 0


def _write_json(context: Context, failed: list[str]) -> None:
    summary = {
        "failed": failed,
        "goals": {
            e.name: [
                {"claim": g.claim, "found": g.found, "met": g.met}
                for g in e.goals(Store(context.root, e.name))
            ]
            for e in registry.EXPERIMENTS
        },
    }
    target = DIRECTORY / "results.json"
    temporary = target.with_suffix(".new")
    temporary.write_text(json.dumps(summary, indent=1) + "\n")
    os.replace(temporary, target)
