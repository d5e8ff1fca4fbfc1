# SPDX-License-Identifier: GPL-2.0-or-later
"""The response-time experiment's part of the report."""

from collections.abc import Collection

from experiments.common import compare, tables
from experiments.measure.results import Store
from experiments.report import plots
from experiments.report.page import Figure, Part, Table, Text
from experiments.report.stats import summarize
from experiments.response_time.steps import NUMBERS, scenario, steps_figure


def overview(
    platform: str, modes: compare.Modes, leave_out: Collection[str]
) -> list[Figure]:
    rows = []
    for name, title in tables.titles_of(modes, leave_out).items():
        if name.startswith("paper-"):    # another job, which takes less
            continue
        values = {}
        for mode, system in modes.items():
            if system.has(name):
                s = summarize(system.table(name, "jobs")["response_ns"])
                values[mode] = (s.p50 / 1000, s.maximum / 1000)
        rows.append(plots.Bars(title, values))
    if not rows:
        return []
    svg = plots.ranges(rows, "response time in µs", f"overview-{platform}", platform)
    return [Figure(svg, f"{platform}: response time of the job, median to maximum.")]


def _others(modes: compare.Modes) -> list[Table]:
    """How the low-priority tasks fared."""
    rows = []
    for system in modes.values():
        for name in system.scenarios:
            if name.endswith("none"):
                continue
            tasks = system.table(name, "tasks")
            releases = system.table(name, "releases")["response_ns"]
            cells = [system.titles[name], tables.kernel_title(system)]
            if len(releases):
                s = summarize(releases)
                cells += [f"{v / 1000:.2f}" for v in (s.p50, s.p99, s.maximum)]
            else:
                cells += ["", "", ""]
            summary = system.summary(name)
            spare = summary["spare_rounds"] / summary["window_ns"] * 1000
            cells += [
                f"{int(tasks['expected'].sum()):,}",
                f"{int((tasks['expected'] - tasks['served']).clip(0).sum()):,}",
                f"{int(tasks['early'].sum()):,}",
                f"{spare:.2f}" if spare else "",
                f"{summary['timer_interrupts']:,.0f}",
            ]
            rows.append(cells)
    if not rows:
        return []
    order = {title: i for i, title in enumerate(dict.fromkeys(r[0] for r in rows))}
    rows.sort(key=lambda r: order[r[0]])
    for i in range(len(rows) - 1, 0, -1):
        if rows[i][0] == rows[i - 1][0]:
            rows[i][0] = ""
    return [Table(
        ["load", "kernel", "p50", "p99", "max", "periods", "missed", "early", "spare rounds/µs",
         "timer interrupts"],
        rows,
        "Response times in µs of the low-priority tasks, from release to end; spare rounds: "
        "what a SCHED_IDLE counter still got.",
        text_columns=2,
    )]


def parts(store: Store, groups: dict[str, tuple[str, ...]]) -> list[Part]:
    """Tables and figures for every platform that has results."""
    def shown(platform: str, modes: compare.Modes) -> list[Part]:
        meta = next(iter(modes.values())).meta
        between = {
            scenario(sync, n) for sync in (False, True) for n in NUMBERS
        } - {s for group in groups.values() for s in group}
        return [
            Text(f"{meta['kernel']}; time: {meta['time']}."),
            *([Text(tables.NOT_SHOWN)] if meta["target"] == "guest" else []),
            *overview(platform, modes, between), tables.table(modes, between),
            *tables.figures(platform, modes, groups), *steps_figure(platform, modes),
            *_others(modes),
        ]

    return [Text(
        "A SCHED_FIFO 99 task wakes up every millisecond and does a fixed amount of work. "
        "Whenever it looks at the CPU's counter and finds that more time has passed than its "
        "own instructions take, it was interrupted. Next to it run other tasks, all of lower "
        "priority, that set timers. In the paper's experiment the job is a matrix multiplication "
        "of about 200 µs and the low-priority tasks are cyclictest instances."),
        *compare.by_platform(store, shown)]
