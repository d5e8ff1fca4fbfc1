# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab run``."""

import argparse
import functools
import sys
from collections.abc import Callable, Sequence

from experiments import papers, registry, report
from experiments.commands import options
from experiments.common.experiment import Context, Experiment, check_scenarios, check_target
from lab.commands.options import positive, words
from lab.kernels import platforms
from lab.progress import Progress


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("experiment", nargs="+", metavar="WHAT",
                        help="an experiment, or a row of experiments/README.md such as T37: what "
                             f"it needs. There are {', '.join(registry.NAMES)}")
    parser.add_argument("--target", choices=("guest", "host"), default="guest",
                        help="kernels in QEMU, or this machine and its kernel (guest)")
    parser.add_argument("--modes", type=words, default=[], metavar="LIST",
                        help="stock, off (kernel.timershield=0, or the module unloaded again), "
                             "shielded, module (default: all that a kernel has)")
    parser.add_argument("--scenarios", type=words, default=[], metavar="LIST",
                        help="only these scenarios; a wrong name lists those that there are")
    parser.add_argument("--jobs", type=positive, metavar="N",
                        help="jobs, and so samples, of each scenario (1000)")
    parser.add_argument("--cpu", type=int, default=0, metavar="N",
                        help="the CPU to measure on (0)")
    options.measured(parser)


def chosen(names: Sequence[str], only: Sequence[str]) -> tuple[list[Experiment], list[str]]:
    """Experiments and scenarios that experiments and rows of the papers' table name."""
    experiments: dict[str, Experiment] = {}
    scenarios = dict.fromkeys(only)
    for name in names:
        if name in registry.NAMES or name.islower():
            experiments[name] = registry.find(name)
        else:
            experiment, needed = papers.measuring(name)
            experiments[experiment.name] = experiment
            scenarios.update(dict.fromkeys(needed))
    return list(experiments.values()), list(scenarios)


def context(arguments: argparse.Namespace, progress: Progress) -> Context:
    """What both ``run`` and ``evaluate`` ask."""
    return Context(
        progress=progress, root=arguments.results,
        platforms=platforms.platforms(arguments.kernels, arguments.linux),
        jobs=100 if arguments.quick else 1000, quick=arguments.quick, parallel=arguments.guests)


def measure(of: Context, experiments: Sequence[Experiment],
            say: Callable[[str], None]) -> dict[str, str]:
    """Run them; one that fails leaves the others' results in place. Which failed, and why."""
    failed = {}
    for number, experiment in enumerate(experiments, 1):
        say(f"{number} of {len(experiments)}: {experiment.name}")
        of.offered.clear()
        of.of = experiment.of

        def run(experiment: Experiment = experiment) -> None:
            experiment.run(of)
            of.require_offered(experiment.scenarios())

        try:
            error = report.failure(functools.partial(run))
        except KeyboardInterrupt:
            left = " ".join(e.name for e in experiments[number - 1:])
            print(f"interrupted in {experiment.name}. What was measured before stays; 'lab/lab "
                  f"run {left}' measures the rest, given the same options")
            raise
        if error:
            say(f"{experiment.name}: {error}")
            failed[experiment.name] = error
    return failed


def run(arguments: argparse.Namespace) -> int:
    """Measure."""
    experiments, scenarios = chosen(arguments.experiment, arguments.scenarios)
    host = arguments.target == "host"
    check_scenarios(experiments, scenarios)
    check_target(experiments, host)
    modes = platforms.modes(arguments.modes)
    with Progress() as progress:
        wanted = context(arguments, progress)
        wanted.modes, wanted.only, wanted.cpu, wanted.host = modes, scenarios, arguments.cpu, host
        wanted.jobs = arguments.jobs or wanted.jobs
        arguments.results.mkdir(parents=True, exist_ok=True)
        failed = measure(wanted, experiments, progress.step)
    if failed:
        print(f"lab: failed: {', '.join(failed)}", file=sys.stderr)
        return 1
    print(f"results: {arguments.results}; 'lab/lab report' draws them, 'lab/lab check' judges")
    return 0
