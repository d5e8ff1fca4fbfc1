# SPDX-License-Identifier: GPL-2.0-or-later
"""Putting all experiments that have results into one page."""

import os
from pathlib import Path

from lab.errors import LabError
from lab.experiments import registry
from lab.report_page import page
from lab.results import Store

INTRODUCTION = [
    "TimerShield keeps timers of lower-ranking tasks from interrupting the task that matters: "
    "while it runs they are masked, and served when it has finished.",
]


def write(results: Path, target: Path, title: str = "TimerShield: measured") -> None:
    """Write the report at ``target``; it appears as a whole or not at all."""
    sections = [
        e.section(Store(results, e.name))
        for e in registry.EXPERIMENTS
        if Store(results, e.name).systems()
    ]
    if not sections:
        raise LabError(f"there are no results in {results}; first: lab run response-time")
    text = page(title, INTRODUCTION, sections)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(target.name + ".new")
    temporary.write_text(text)
    os.replace(temporary, target)
