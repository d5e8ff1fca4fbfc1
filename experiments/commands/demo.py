# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab demo``: the shield off and on, next to six loads."""

import argparse
import platform as machine
from dataclasses import dataclass
from pathlib import Path

from experiments.commands import report
from experiments.common import compare
from experiments.common.experiment import Context
from experiments.report import terminal
from experiments.report.page import Text
from experiments.report.stats import summarize
from experiments.response_loop import tables
from experiments.response_time import experiment as response_time
from lab.commands.options import linux
from lab.kernels import debian
from lab.measure.results import Measured, Store
from lab.measure.systems import Mode, Platform, System
from lab.paths import BUILD
from lab.progress import Progress

RELEASES = {"6.1": "12", "7.3": "13"}
"""The only release of Debian that has a kernel of this version."""
JOBS = 500
WORST = "timerfds-1000"
BY_MODE = ("Next to FIFO tasks the shield masks by level (kernel.timershield=2), next to ordinary "
           "ones by class (1, the default).")


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("--module", action="store_true",
                        help="run Debian's own kernel without and with the module; build none")
    linux(parser)


def _own_release() -> str:
    """That of this machine, or the newest."""
    try:
        number = machine.freedesktop_os_release().get("VERSION_ID", "")
    except OSError:
        number = ""
    return number if number in debian.RELEASES else max(debian.RELEASES)


@dataclass(frozen=True)
class Shown:
    """What a demo measured: where, and the same kernel without the shield and with it."""

    place: Path
    store: Store
    off: Measured
    on: Measured


def measure(module: bool, linux: str) -> Shown:
    """Build or fetch the kernel, and run the loads."""
    place = BUILD / "demo" / ("module" if module else "")
    release = RELEASES.get(linux) or _own_release()
    platform = Platform("x86_64", "preempt", linux, release if module else "")
    modes = [Mode.STOCK, Mode.MODULE] if module else [Mode.OFF, Mode.SHIELDED]
    experiment = response_time.EXPERIMENT
    with Progress() as progress:
        experiment.run(Context(progress=progress, root=place / "results", platforms=[platform],
                               modes=modes, jobs=JOBS, only=list(response_time.DEMO)))
    store = Store(place / "results", experiment.name)
    return Shown(place, store, *(store[System(platform, m).name] for m in modes))


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, write report.html below build/demo."""
    shown = measure(arguments.module, arguments.linux)
    off, on = shown.off, shown.on
    kernel = " ".join(off.meta["kernel"].split()[:2])
    terminal.show([Text(f"A 1 kHz FIFO-99 job, {kernel}, {JOBS} jobs a row",
                        heading=True),
                   *(tables.table(found) for found in compare.platforms(shown.store).values()),
                   Text(tables.NOT_SHOWN), Text(BY_MODE)])
    page = shown.place / "report.html"
    found = conclusions(off, on)
    report.write(shown.place / "results", page, "TimerShield: the shield off and on", found,
                 claims_first=False)
    print(*found, f"The picture, and all figures: {page}", sep="\n")
    print("Next: find out what keeps this machine from exact timing: "
          "make install PARTS=command, then timershield status")
    # a narrowly missed goal is for 'lab check'; an interrupted job is a failure
    return 1 if response_time.EXPERIMENT.judged(shown.store)[0].met is False else 0


def conclusions(off: Measured, on: Measured) -> list[str]:
    """What the demo showed, and what the shield costs where nothing disturbs."""
    alone, idle, before, after = (
        summarize(system.table(scenario, "jobs")["response_ns"]) for system, scenario in (
            (off, "none"), (on, "none"), (off, WORST), (on, WORST)))
    return [
        f"Next to {off.titles[WORST]}, the job took {before.p50 / alone.p50 - 1:.0%} longer "
        f"without the shield (worst {before.maximum / 1000:.0f} µs), "
        f"{after.p50 / idle.p50 - 1:.1%} with it (worst {after.maximum / 1000:.0f} µs).",
        f"What it costs a job that nothing disturbs: {idle.p50 / alone.p50 - 1:+.2%}.",
    ]
