# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab report``: all experiments that have results, in one page."""

import argparse
import functools
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from experiments import registry
from experiments.commands import options
from experiments.common.experiment import Experiment
from experiments.measure.results import Store
from experiments.report import terminal
from experiments.report.page import Section, page
from lab.errors import LabError
from lab.paths import BUILD

INTRODUCTION = [
    "TimerShield keeps timers of lower-ranking tasks from interrupting the task that matters: "
    "while it runs they are masked, and served when it has finished.",
]


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", default=BUILD / "report.html",
                        help="write the page to FILE (build/report.html)")
    options.results(parser)


def run(arguments: argparse.Namespace) -> int:
    """Draw; print tables and claims, and where the page is."""
    sections, damaged = sections_of(arguments.results)
    write(arguments.results, arguments.output)
    for section in sections:
        terminal.tables(section)
    terminal.claims(sections)
    print(arguments.output)
    for reason in damaged.values():
        print(f"lab: {reason}", file=sys.stderr)
    return 1 if damaged else 0


def failure(call: Callable[[], None]) -> str | None:
    """Why ``call`` failed, if it did.

    A defect in one experiment's code, or in its samples, must not cost what the others have.
    """
    try:
        call()
    except LabError as error:
        return str(error)
    except Exception as error:
        traceback.print_exc()
        return f"{type(error).__name__}: {error}"
    return None


def sections_of(results: Path) -> tuple[list[Section], dict[str, str]]:
    """Of all experiments that have results; and why some of these cannot be shown."""
    sections: list[Section] = []
    damaged = {}

    def add(experiment: Experiment, store: Store) -> None:
        for system in store:
            _ = system.meta
        sections.append(experiment.section(store))

    for experiment in registry.EXPERIMENTS:
        store = Store(results, experiment.name)
        if store.systems():
            error = failure(functools.partial(add, experiment, store))
            if error:
                damaged[experiment.name] = error
    return sections, damaged


def write(
    results: Path, target: Path, title: str = "TimerShield: measured",
    introduction: list[str] | None = None, failed: dict[str, str] | None = None,
) -> dict[str, str]:
    """Write the report at ``target``; it appears as a whole or not at all.

    ``failed`` names experiments that did not run to their end, and says why. Returned are those
    whose results cannot be shown, with the reasons, which the report names, too.
    """
    sections, damaged = sections_of(results)
    if not sections and damaged:
        raise LabError("\n".join(damaged.values()))
    if not sections:
        raise LabError(f"there are no results in {results}; first: lab/lab run response-time")
    text = page(title, introduction or INTRODUCTION, sections, failed, damaged)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(target.name + ".new")
    temporary.write_text(text)
    os.replace(temporary, target)
    return damaged
