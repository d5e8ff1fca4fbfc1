# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab papers``."""

import argparse

from experiments import papers
from experiments.commands import options


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("--write-only", action="store_true",
                        help="take nothing from the raw samples; write the table alone")
    options.results(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write measured.json by the raw samples that there are, and experiments/README.md."""
    if not arguments.write_only:
        papers.save(papers.merged(papers.saved(), papers.compact(arguments.results)))
    papers.README.write_text(papers.written(papers.README.read_text(), papers.saved()))
    print(papers.README)
    return 0
