# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab run``."""

import argparse
import sys

from experiments import registry
from experiments.commands import options
from experiments.common.experiment import Context, check_scenarios, check_target
from experiments.report import terminal
from lab.commands.options import positive, words
from lab.errors import LabError
from lab.kernels import platforms
from lab.progress import Progress


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("experiment", nargs="+")
    parser.add_argument("--target", choices=("guest", "host"), default="guest",
                        help="kernels in QEMU, or this machine and its kernel (guest)")
    parser.add_argument("--modes", type=words, default=[], metavar="LIST",
                        help="stock, off (kernel.timershield=0, or the module unloaded again), "
                             "shielded, module (default: all that a kernel has)")
    parser.add_argument("--scenarios", type=words, default=[], metavar="LIST",
                        help="only these scenarios; 'lab/lab list EXPERIMENT' names them")
    parser.add_argument("--jobs", type=positive, metavar="N",
                        help="jobs, and so samples, of each scenario (1000)")
    parser.add_argument("--cpu", type=int, default=0, metavar="N",
                        help="the CPU to measure on (0)")
    options.measured(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure; what was measured on this machine is printed, too."""
    experiments = [registry.find(n) for n in arguments.experiment]
    host = arguments.target == "host"
    check_scenarios(experiments, arguments.scenarios)
    check_target(experiments, host)
    failed = []
    arguments.results.mkdir(parents=True, exist_ok=True)
    with Progress() as progress:
        context = Context(
            progress=progress, root=arguments.results,
            platforms=platforms.platforms(arguments.kernels, arguments.linux),
            modes=platforms.modes(arguments.modes),
            jobs=arguments.jobs or (100 if arguments.quick else 1000),
            only=arguments.scenarios, cpu=arguments.cpu, host=host, quick=arguments.quick,
            parallel=arguments.guests,
        )
        for experiment in experiments:
            context.offered.clear()
            try:
                experiment.run(context)
                context.require_offered(experiment.scenarios())
            except LabError as error:
                progress.step(f"{experiment.name}: {error}")
                failed.append(experiment.name)
                continue
            if host:
                terminal.tables(experiment.section(context.store(experiment.name)))
    if failed:
        print(f"lab: failed: {', '.join(failed)}", file=sys.stderr)
        return 1
    print(f"results: {arguments.results}; 'lab/lab report' draws them")
    return 0
