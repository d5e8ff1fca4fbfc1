# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab evaluate``: all experiments, and the report of them."""

import argparse

from experiments import registry, report
from experiments.commands import options
from experiments.commands import run as running
from experiments.commands.report import PAGE
from lab.progress import Progress


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    options.measured(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure and draw."""
    with Progress() as progress:
        failed = running.measure(running.context(arguments, progress), registry.EXPERIMENTS,
                                 progress.step)
    damaged = report.write(arguments.results, PAGE, failed)
    print(PAGE)
    for name in (*failed, *damaged):
        print(f"failed: {name}")
    return 1 if failed or damaged else 0
