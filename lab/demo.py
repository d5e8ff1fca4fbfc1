# SPDX-License-Identifier: GPL-2.0-or-later
"""The short version: one shielded kernel, its shield off and on, a table and a page."""

from rich import box
from rich.console import Console
from rich.table import Table

from lab import report
from lab.experiments import response_section, response_time
from lab.experiments.base import Context
from lab.paths import BUILD
from lab.progress import Progress
from lab.results import Store

PLATFORM = "x86_64-preempt"
JOBS = 500
WIDTH = 124


def run(progress: Progress) -> int:
    """Build, measure, print, write build/demo/report.html."""
    root = BUILD / "demo" / "results"
    context = Context(progress=progress, root=root, platforms=[PLATFORM],
                      modes=["off", "shielded"], jobs=JOBS, only=list(response_time.DEMO))
    experiment = response_time.EXPERIMENT
    experiment.run(context)
    store = Store(root, experiment.name)
    _print(store)
    page = BUILD / "demo" / "report.html"
    report.write(root, page, "TimerShield: the shield off and on")
    print(f"\nThe picture, and all figures: {page}")
    goals = experiment.goals(store)
    for goal in goals:
        print(f"{'met   ' if goal.met else 'MISSED'}  {goal.claim}: {goal.found}")
    # what is missed by a little is said; that a job was interrupted is a failure
    return 0 if goals[0].met else 1


def _print(store: Store) -> None:
    console = Console(highlight=False, width=WIDTH)
    table = Table(title=f"Response time in µs of a 1 kHz FIFO-99 job, Linux 6.12, {PLATFORM}, "
                  f"{JOBS} jobs a row",
                  caption="interrupted, stolen: interruptions and µs lost a job. "
                  + response_section.NOT_SHOWN,
                  caption_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("load", no_wrap=True)
    table.add_column("kernel", no_wrap=True)
    for name in ("p50", "p95", "p99", "p99.9", "max", "interrupted", "stolen"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in response_time.DEMO:
        title = store.meta(f"{PLATFORM}-off")["titles"][name]
        for mode in ("off", "shielded"):
            cells, _ = response_section.row(store, f"{PLATFORM}-{mode}", mode, name)
            table.add_row(title, *cells[:-1])
            title = ""
        table.add_section()
    console.print(table)
