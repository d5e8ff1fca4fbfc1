# SPDX-License-Identifier: GPL-2.0-or-later
"""Putting all experiments that have results into one page."""

import os
from pathlib import Path

from lab.errors import LabError
from lab.experiments import registry
from lab.report_page import Section, page
from lab.results import Store

INTRODUCTION = [
    "TimerShield keeps timers of lower-ranking tasks from interrupting the task that matters: "
    "while it runs they are masked, and served when it has finished.",
]


def _sections(results: Path) -> list[Section]:
    sections = []
    for experiment in registry.EXPERIMENTS:
        store = Store(results, experiment.name)
        if store.systems():
            section = experiment.section(store)
            section.claims = experiment.claims(store)
            sections.append(section)
    return sections


def write(
    results: Path, target: Path, title: str = "TimerShield: measured",
    introduction: list[str] | None = None, failed: dict[str, str] | None = None,
) -> None:
    """Write the report at ``target``; it appears as a whole or not at all.

    ``failed`` names experiments that did not run to their end, and says why.
    """
    sections = _sections(results)
    if not sections:
        raise LabError(f"there are no results in {results}; first: lab run response-time")
    text = page(title, introduction or INTRODUCTION, sections, failed)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(target.name + ".new")
    temporary.write_text(text)
    os.replace(temporary, target)
