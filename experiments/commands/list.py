# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab list``."""

import argparse

from experiments import registry
from lab.kernels import kernels


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("experiment", nargs="*", help="name the scenarios of these")


def run(arguments: argparse.Namespace) -> int:
    """Print names and titles."""
    chosen = [registry.find(n) for n in arguments.experiment]
    for experiment in chosen:
        print(f"Scenarios of {experiment.name}:")
        for name, title in experiment.scenarios().items():
            print(f"  {name:21} {title}")
    if chosen:
        return 0
    print("Experiments ('lab/lab list EXPERIMENT' names the scenarios of one):")
    for experiment in registry.EXPERIMENTS:
        print(f"  {experiment.name:18} {experiment.title}")
    print("Kernels:")
    for kernel in kernels.all_kernels():
        print(f"  {kernel.name:26} {'built' if kernels.installed(kernel) else ''}".rstrip())
    return 0
