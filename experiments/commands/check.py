# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab check``."""

import argparse
from pathlib import Path

from experiments import papers, registry
from experiments.commands import options
from experiments.common.claims import Judged
from experiments.common.experiment import Experiment
from experiments.measure.results import Store
from lab.errors import LabError


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("experiment", nargs="*",
                        help="without any: whether each row of experiments/README.md was measured "
                             "of what is in this tree")
    options.results(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print every claim that can be judged; 1 if one is missed."""
    if not arguments.experiment:
        return _check_table(arguments.results)
    missed = judged = 0
    complaints = []
    for experiment in [registry.find(n) for n in arguments.experiment]:
        try:
            claims = _judged(experiment, Store(arguments.results, experiment.name))
        except LabError as error:
            complaints.append(str(error))
            continue
        for claim in claims:
            print(f"{'met   ' if claim.met else 'MISSED'}  {claim.where}: {claim.text}: "
                  f"{claim.found}")
            missed += not claim.met
        judged += len(claims)
    if judged:
        print(f"{missed} of {judged} missed" if missed else f"all {judged} met")
    if complaints:
        raise LabError("\n".join(complaints))
    return 1 if missed else 0


def _check_table(root: Path) -> int:
    """1 if a row is of other sources than this tree's, or says something else than its samples."""
    measured = papers.saved()
    complaints = dict.fromkeys((
        *(f"STALE   {c}" for c in papers.stale(measured)),
        *(f"EDITED  {c}" for c in papers.edited(measured, papers.compact(root)))))
    for complaint in complaints:
        print(complaint)
    if complaints:
        print("'lab/lab run ROW' measures a row again, then 'lab/lab papers' writes it")
    return 1 if complaints else 0


def _judged(experiment: Experiment, store: Store) -> list[Judged]:
    """What the results of ``store`` show, or why they do not show anything."""
    if not store.systems():
        raise LabError(f"{experiment.name}: no results in {store.path.parent}; "
                       f"first: lab/lab run {experiment.name}")
    claims = [c for c in experiment.judged(store) if c.met is not None]
    if not claims:
        raise LabError(f"{experiment.name}: nothing can be judged by the results of "
                       f"{', '.join(store.systems())} alone; 'lab/lab report' shows them")
    return claims
