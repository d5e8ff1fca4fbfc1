# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab papers``."""

import argparse
import json
from pathlib import Path

from experiments import papers
from experiments.commands import figures


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("results", type=Path, nargs="?", metavar="RESULTS.json",
                        help="an evaluation's results; they replace those of the same "
                             "experiments and kernels in experiments/measured.json")


def run(arguments: argparse.Namespace) -> int:
    """Write experiments/README.md and what docs/ quote; measured.json if there are new results."""
    if arguments.results:
        new = papers.compact(json.loads(arguments.results.read_text()))
        papers.save(papers.merged(papers.saved(), new))
    papers.README.write_text(papers.written(papers.README.read_text(), papers.saved()))
    figures.write(figures.kept())
    print(papers.README)
    return 0
