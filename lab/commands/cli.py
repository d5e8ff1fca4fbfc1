# SPDX-License-Identifier: GPL-2.0-or-later
"""The ``lab`` command: builds kernels, boots guests, runs experiments, draws reports."""

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from kernel.tools import patchset
from lab.errors import LabError
from lab.kernels import toolchain
from lab.paths import BUILD, RESULTS

if TYPE_CHECKING:
    from experiments.common.experiment import Experiment
    from lab.measure.results import Store
    from lab.report.claims import Goal

DESCRIPTION = __doc__


def _kernel(arguments: argparse.Namespace) -> int:
    from lab.kernels import kernels
    from lab.progress import Progress

    names = [kernels.Kernel.parse(n, arguments.linux) for n in arguments.name]
    with Progress() as progress:
        for kernel in names:
            print(kernels.build(kernel, progress, arguments.jobs))
    return 0


def _boot(arguments: argparse.Namespace) -> int:
    from lab.boot import qemu
    from lab.kernels import kernels
    from lab.progress import Progress

    kernel = kernels.Kernel.parse(arguments.kernel, arguments.linux)
    if kernel.debian:
        with Progress() as progress:
            kernels.build(kernel, progress)
    if not kernels.installed(kernel):
        raise LabError(f"{kernel.name} is not built: make kernel LINUX={kernel.linux} "
                       f"ARCH={kernel.arch} "
                       f"FLAVOUR={kernel.flavour} VARIANT={kernel.variant}")
    initrd = Path(arguments.initrd)
    if not initrd.is_file():
        raise LabError(f"{initrd}: no such file")
    machine = qemu.Machine(cpus=arguments.cpus, icount=not arguments.host_time,
                           memory=arguments.memory, append=" ".join(arguments.append))
    return qemu.boot_interactive(kernel, kernel.image, initrd, machine)


def _run(arguments: argparse.Namespace) -> int:
    from experiments import registry
    from experiments.common.experiment import Context, check_scenarios, check_target
    from lab.measure import systems
    from lab.progress import Progress

    experiments = [registry.find(n) for n in arguments.experiment]
    check_scenarios(experiments, arguments.scenarios)
    check_target(experiments, arguments.target == "host")
    jobs = arguments.jobs or (100 if arguments.quick else 1000)
    failed = []
    arguments.results.mkdir(parents=True, exist_ok=True)
    with Progress() as progress:
        context = Context(
            progress=progress,
            root=arguments.results,
            platforms=systems.platforms(arguments.kernels, arguments.linux),
            modes=systems.modes(arguments.modes),
            jobs=jobs,
            only=arguments.scenarios,
            cpu=arguments.cpu,
            host=arguments.target == "host",
            quick=arguments.quick,
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
    if failed:
        print(f"lab: failed: {', '.join(failed)}", file=sys.stderr)
        return 1
    print(f"raw samples are in {arguments.results}; 'lab/lab report' draws them")
    return 0


def _check(arguments: argparse.Namespace) -> int:
    from experiments import registry
    from lab.measure.results import Store

    missed = judged = 0
    complaints = []
    for experiment in [registry.find(n) for n in arguments.experiment]:
        try:
            goals = _goals(experiment, Store(arguments.results, experiment.name))
        except LabError as error:
            complaints.append(str(error))
            continue
        for goal in goals:
            print(f"{'met   ' if goal.met else 'MISSED'}  {goal.claim}: {goal.found}")
            missed += not goal.met
        judged += len(goals)
    if judged:
        print(f"{missed} goals missed" if missed else "all goals met")
    if complaints:
        raise LabError("\n".join(complaints))
    return 1 if missed else 0


def _goals(experiment: "Experiment", store: "Store") -> "list[Goal]":
    """What the results of ``store`` show, or why they do not show anything."""
    if not experiment.has_goals():
        raise LabError(f"{experiment.name} has no goals: 'lab/lab report' shows what it measures")
    if not store.systems():
        raise LabError(f"{experiment.name}: no results in {store.path.parent}; "
                       f"first: lab/lab run {experiment.name}")
    goals = experiment.goals(store)
    if not goals:
        raise LabError(f"{experiment.name}: none of its goals can be judged by the results of "
                       f"{', '.join(store.systems())} alone; 'lab/lab report' shows them")
    return goals


def _report(arguments: argparse.Namespace) -> int:
    from lab.commands import report

    path = arguments.output or BUILD / "report.html"
    damaged = report.write(arguments.results, path)
    print(path)
    for reason in damaged.values():
        print(f"lab: {reason}", file=sys.stderr)
    return 1 if damaged else 0


def _list(arguments: argparse.Namespace) -> int:
    from experiments import registry
    from lab.kernels import kernels

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


def _demo(arguments: argparse.Namespace) -> int:
    from lab.commands import demo
    from lab.progress import Progress

    with Progress() as progress:
        return demo.run(progress, arguments.linux, arguments.module)


def _test(arguments: argparse.Namespace) -> int:
    from lab.progress import Progress
    from lab.runner import testing

    with Progress() as progress:
        return testing.run(progress, testing.Selection(
            kernels=arguments.kernels, suites=arguments.suites, linux=arguments.linux,
            soak=arguments.seconds, host=not arguments.guests_only,
            guests=not arguments.host_only,
        ))


def _defects(arguments: argparse.Namespace) -> int:
    from lab.progress import Progress
    from lab.runner import defects

    with Progress() as progress:
        return defects.run(progress, arguments.only, arguments.queue)


def _deb(arguments: argparse.Namespace) -> int:
    from lab.kernels import deb
    from lab.progress import Progress

    with Progress() as progress:
        packages = deb.build(progress, arguments.config, arguments.local_modules, arguments.linux)
    for package in packages:
        print(package)
    print("install them with: apt-get install " + " ".join(map(str, packages)))
    return 0


def _evaluate(arguments: argparse.Namespace) -> int:
    from experiments.common.experiment import Context
    from lab.commands import evaluation
    from lab.measure import systems
    from lab.progress import Progress

    if arguments.draw_only:
        return evaluation.draw(arguments.results, {})
    with Progress() as progress:
        context = Context(
            progress=progress, root=arguments.results,
            platforms=systems.platforms(arguments.kernels, arguments.linux),
            jobs=100 if arguments.quick else 1000, quick=arguments.quick,
            parallel=arguments.guests,
        )
        return evaluation.run(context, progress.step, arguments.experiment)


def _patches(arguments: argparse.Namespace) -> int:
    from lab.kernels import kernels
    from lab.measure import systems
    from lab.progress import Progress
    from lab.runner import patch_check, testing

    [platform] = systems.platforms([arguments.platform], arguments.linux)
    with Progress() as progress:
        stock = kernels.stock_tree(progress, platform.linux)
        verdicts = patch_check.style(stock, platform.linux)
        if not arguments.style_only:
            verdicts += patch_check.new_warnings(progress, platform)
            verdicts += patch_check.each_builds(stock, progress, platform)
        for verdict in verdicts:
            testing.show(progress, verdict)
    failed = sum(v.failed for v in verdicts)
    print(f"{sum(v.passed for v in verdicts)} passed, {failed} failed")
    return 1 if failed else 0


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 up")
    return int(text)


def _numbers(text: str) -> list[int]:
    return [_positive(t) for t in _csv(text)]


def _csv(text: str) -> list[str]:
    found = [t for t in text.split(",") if t]
    if not found:
        raise argparse.ArgumentTypeError(f"'{text}' names nothing")
    return found


def _add_results(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--results", type=Path, default=RESULTS, metavar="DIRECTORY",
                      help="where raw samples are kept (build/results)")


def _add_linux(verb: argparse.ArgumentParser, default: str = patchset.DEFAULT) -> None:
    verb.add_argument("--linux", default=default, metavar="VERSION",
                      help=f"where a kernel's name does not say it ({default or 'all'})")


def _add_measured(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--kernels", type=_csv, metavar="LIST",
                      help="platforms: x86_64-rt, arm64-preempt, rt, arm64, all (x86_64); "
                           "7.3/rt; debian12/6.1, debian13/7.3-rt: Debian's own")
    verb.add_argument("--quick", action="store_true", help="a tenth of the samples")
    verb.add_argument("--guests", type=_positive, default=len(os.sched_getaffinity(0)),
                      metavar="N", help="guests side by side (one for each CPU)")
    _add_results(verb)
    _add_linux(verb)


def _add_run(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    run = verbs.add_parser("run", help="run experiments and keep their raw samples")
    run.add_argument("experiment", nargs="+")
    run.add_argument("--target", choices=("guest", "host"), default="guest",
                     help="lab kernels in QEMU, or this machine and its kernel")
    run.add_argument("--modes", type=_csv, default=[], metavar="LIST",
                     help="stock, off (kernel.timershield=0, or the module unloaded again), "
                          "shielded, module (all that a kernel has)")
    run.add_argument("--scenarios", type=_csv, default=[], metavar="LIST",
                     help="some scenarios only; 'lab/lab list EXPERIMENT' names them")
    run.add_argument("--jobs", type=_positive, help="jobs, that is samples, a scenario (1000)")
    run.add_argument("--cpu", type=int, default=0, help="which CPU to measure on (0)")
    _add_measured(run)
    run.set_defaults(run=_run)


def _add_long(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    soak = verbs.add_parser("soak", help="timer churn on the debug kernels")
    soak.add_argument("--seconds", type=_positive, default=600, help="of guest time (600)")
    soak.add_argument("--kernels", type=_csv, metavar="LIST")
    soak.add_argument("--suites", type=_csv, default=[], metavar="LIST",
                      help="churn (one CPU), churn-smp (two); both")
    _add_linux(soak, "")
    soak.set_defaults(run=_test, guests_only=True, host_only=False)
    patches = verbs.add_parser(
        "patches", help="checkpatch, warnings, and whether every kernel patch builds by itself")
    patches.add_argument("--platform", default="x86_64-preempt", metavar="ARCH-FLAVOUR")
    patches.add_argument("--style-only", action="store_true", help="checkpatch only")
    _add_linux(patches)
    patches.set_defaults(run=_patches)
    defects = verbs.add_parser(
        "defects", help="whether the tests notice defects that are put into the kernel")
    defects.add_argument("--only", type=_numbers, metavar="LIST",
                         help="these defects, by their numbers in defects.toml")
    defects.add_argument("--queue", action="store_true",
                         help="those of the timer queue, which need no guest")
    defects.set_defaults(run=_defects)
    deb = verbs.add_parser("deb", help="Debian packages of a shielded kernel")
    deb.add_argument("--config", type=Path, metavar="FILE",
                     help="configuration to start from (the running kernel's)")
    deb.add_argument("--local-modules", action="store_true",
                     help="only modules that are loaded now: much faster, this machine only")
    _add_linux(deb)
    deb.set_defaults(run=_deb)
    evaluate = verbs.add_parser("evaluate", help="all experiments; one report")
    evaluate.add_argument("experiment", nargs="*", help="run these only, draw all")
    evaluate.add_argument("--draw-only", action="store_true",
                          help="run nothing, draw the report from the samples that there are")
    _add_measured(evaluate)
    evaluate.set_defaults(run=_evaluate)


def _add_boot(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    boot = verbs.add_parser("boot", help="boot an initramfs; its console is standard output")
    boot.add_argument("--kernel", required=True, metavar="[VERSION/]ARCH-FLAVOUR-VARIANT")
    boot.add_argument("--initrd", required=True, metavar="FILE")
    boot.add_argument("--append", action="append", default=[], metavar="WORDS",
                      help="added to the kernel command line")
    boot.add_argument("--cpus", type=_positive, default=1)
    boot.add_argument("--memory", type=_positive, default=512, metavar="MIB")
    boot.add_argument("--host-time", action="store_true",
                      help="follow the host's clock instead of counting instructions")
    _add_linux(boot)
    boot.set_defaults(run=_boot)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="lab", description=DESCRIPTION)
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    kernel = verbs.add_parser("kernel", help="build kernels")
    kernel.add_argument("name", nargs="+", metavar="[VERSION/]ARCH-FLAVOUR-VARIANT")
    kernel.add_argument("-j", "--jobs", type=_positive, help="compilers at a time")
    _add_linux(kernel)
    kernel.set_defaults(run=_kernel)
    _add_boot(verbs)
    _add_run(verbs)
    check = verbs.add_parser("check", help="compare results with what must be shown")
    check.add_argument("experiment", nargs="+")
    _add_results(check)
    check.set_defaults(run=_check)
    report = verbs.add_parser("report", help="draw one self-contained page from the samples")
    report.add_argument("-o", "--output", type=Path, metavar="FILE")
    _add_results(report)
    report.set_defaults(run=_report)
    listing = verbs.add_parser("list", help="experiments and kernels, or scenarios")
    listing.add_argument("experiment", nargs="*", help="name the scenarios of these")
    listing.set_defaults(run=_list)
    demo = verbs.add_parser("demo", help="the short version: shield off and on")
    demo.add_argument("--module", action="store_true",
                      help="Debian's own kernel without and with the module; builds no kernel")
    _add_linux(demo)
    demo.set_defaults(run=_demo)
    test = verbs.add_parser("test", help="the test suite")
    test.add_argument("--kernels", type=_csv, metavar="LIST",
                      help="these kernels instead of those in lab/runner/matrix.py")
    test.add_argument("--suites", type=_csv, default=[], metavar="LIST",
                      help="guest suites whose names match these shell patterns only")
    only = test.add_mutually_exclusive_group()
    only.add_argument("--guests-only", action="store_true", help="no tests outside guests")
    only.add_argument("--host-only", action="store_true", help="no guests")
    _add_linux(test, "")
    test.set_defaults(run=_test, seconds=0)
    _add_long(verbs)
    return top


ENDING = (signal.SIGTERM, signal.SIGHUP)


def _interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    # once: a lost terminal sends SIGHUP twice, and what is to be put back has to be
    for ending in ENDING:
        signal.signal(ending, signal.SIG_IGN)
    raise KeyboardInterrupt(number)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; return the exit status."""
    arguments = parser().parse_args(argv)
    for ending in ENDING:
        if signal.getsignal(ending) is signal.SIG_DFL:
            signal.signal(ending, _interrupt)
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
        return status
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        words = toolchain.without_module(error.name)
        if words is None:
            raise
        print(f"lab: {words}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # the reader has enough; Python is not to complain when it flushes at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as interrupt:
        with contextlib.suppress(OSError):  # the terminal may be what was lost
            print("lab: interrupted", file=sys.stderr)
        return 128 + next(iter(interrupt.args), signal.SIGINT)
