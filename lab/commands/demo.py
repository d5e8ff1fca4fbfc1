# SPDX-License-Identifier: GPL-2.0-or-later
"""The short version: one kernel, its shield off and on, a table and a page.

The kernel is one of ours, or Debian's own without and with the module.
"""

import platform as machine
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from experiments.common.experiment import Context
from experiments.response_loop import tables
from experiments.response_time import experiment as response_time
from lab.commands import report
from lab.kernels import debian
from lab.measure.results import Store
from lab.measure.systems import Mode, Platform, System
from lab.paths import BUILD
from lab.progress import Progress

RELEASES = {"6.1": "12", "7.3": "13"}
"""The only release of Debian that has a kernel of this version."""
JOBS = 500
WIDTH = 124


def _own_release() -> str:
    """That of this machine, or the newest."""
    try:
        number = machine.freedesktop_os_release().get("VERSION_ID", "")
    except OSError:
        number = ""
    return number if number in debian.RELEASES else max(debian.RELEASES)


def run(progress: Progress, linux: str, module: bool) -> int:
    """Build or fetch, measure, print, write report.html below build/demo."""
    place = BUILD / "demo" / ("module" if module else "")
    release = RELEASES.get(linux) or _own_release()
    platform = Platform("x86_64", "preempt", linux, release if module else "")
    modes = (Mode.STOCK, Mode.MODULE) if module else (Mode.OFF, Mode.SHIELDED)
    root = place / "results"
    context = Context(progress=progress, root=root, platforms=[platform],
                      modes=list(modes), jobs=JOBS, only=list(response_time.DEMO))
    experiment = response_time.EXPERIMENT
    experiment.run(context)
    store = Store(root, experiment.name)
    _print(store, platform, modes)
    page = place / "report.html"
    report.write(root, page, "TimerShield: the shield off and on")
    print(f"\nThe picture, and all figures: {page}")
    goals = experiment.goals(store)
    if module:
        print("What the shield aims at where it is built into the kernel:")
    for goal in goals:
        print(f"{'met   ' if goal.met else 'MISSED'}  {goal.claim}: {goal.found}")
    # a narrowly missed goal is printed; an interrupted job is a failure
    return 0 if goals[0].met else 1


def _print(store: Store, platform: Platform, modes: Sequence[Mode]) -> None:
    console = Console(highlight=False, width=WIDTH)
    kernel = store[System(platform, modes[0]).name].meta["kernel"].split()
    table = Table(title=f"Response time in µs of a 1 kHz FIFO-99 job, {kernel[0]} {kernel[1]}, "
                  f"{JOBS} jobs a row",
                  caption="interrupted, stolen: interruptions and µs lost a job. "
                  + tables.NOT_SHOWN,
                  caption_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("load", no_wrap=True)
    table.add_column("kernel", no_wrap=True)
    for name in ("p50", "p95", "p99", "p99.9", "max", "interrupted", "stolen"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in response_time.DEMO:
        title = store[System(platform, modes[0]).name].titles[name]
        for mode in modes:
            cells = tables.row(store[System(platform, mode).name], mode, name)
            table.add_row(title, *cells[:-1])
            title = ""
        table.add_section()
    console.print(table)
