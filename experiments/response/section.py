# SPDX-License-Identifier: GPL-2.0-or-later
"""The response-time experiment's part of the report."""

from collections.abc import Collection, Sequence

from experiments import compare
from experiments.response import claims, goals
from lab.measure.results import Measured, Store
from lab.report import plots
from lab.report.page import Figure, Part, Table, Text
from lab.report.stats import summarize

HEAD = ["load", "kernel", "p50", "p95", "p99", "p99.9", "max", "interruptions/job",
        "stolen/job", "jobs"]
NOT_SHOWN = (
    "Guest figures are taken under instruction-counted time: one instruction takes one "
    "nanosecond, on one virtual CPU. That makes interference exact and repeatable, but models "
    "neither caches nor the cost of an interrupt in hardware, so it understates what a real "
    "machine loses without the shield."
)
MODE_TITLES = {"stock": "stock", "off": "shield off", "shielded": "shielded", "module": "module"}


def _title(system: Measured, mode: str) -> str:
    return "unloaded" if system.system.unloads else MODE_TITLES[mode]


def row(system: Measured, mode: str, scenario: str) -> list[str]:
    """The table's row for one scenario on one system."""
    jobs = system.table(scenario, "jobs")
    s = summarize(jobs["response_ns"])
    cells = [_title(system, mode)]
    cells += [f"{v / 1000:.2f}" for v in (s.p50, s.p95, s.p99, s.p999, s.maximum)]
    cells.append(f"{jobs['interruptions'].mean():.3f}".rstrip("0").rstrip("."))
    cells.append(f"{jobs['stolen_ns'].mean() / 1000:.2f}")
    cells.append(f"{s.count:,}")
    return cells


def _scenarios(
    modes: compare.Modes, leave_out: Collection[str]
) -> dict[str, str]:
    """Names and titles of all fixed-work scenarios that any of ``modes`` has but ``leave_out``."""
    found: dict[str, str] = {}
    for system in modes.values():
        titles = system.titles
        found.update((s, titles[s]) for s in goals.timed(system)
                     if s not in leave_out)
    return found


def table(
    modes: compare.Modes, leave_out: Collection[str] = ()
) -> Table:
    """All fixed-work scenarios of one platform but ``leave_out``."""
    rows: list[list[str]] = []
    for scenario, title in _scenarios(modes, leave_out).items():
        for mode, system in compare.having(modes, scenario, ("stock", "off", "shielded")):
            rows.append([title, *row(system, mode, scenario)])
            title = ""
    return Table(HEAD, rows, "Response times in µs, from the release of a job to its end; "
                 "nearest-rank percentiles.", text_columns=2)


def _overview(
    platform: str, modes: compare.Modes, leave_out: Collection[str]
) -> list[Figure]:
    rows = []
    for scenario, title in _scenarios(modes, leave_out).items():
        values = {}
        for mode, system in modes.items():
            if system.has(scenario):
                s = summarize(system.table(scenario, "jobs")["response_ns"])
                values[mode] = (s.p50 / 1000, s.maximum / 1000)
        rows.append(plots.Bars(title, values))
    if not rows:
        return []
    svg = plots.ranges(rows, "response time in µs", f"overview-{platform}")
    return [Figure(svg, f"{platform}: response time of the job, median to maximum.")]


def figures(
    platform: str, modes: compare.Modes, groups: dict[str, tuple[str, ...]], prefix: str = "cdf",
) -> list[Figure]:
    """A distribution for each group of scenarios."""
    found = []
    shown = [m for m in ("stock", "shielded") if m in modes] or list(modes)
    if shown == ["shielded"] and "off" in modes:
        shown = ["off", "shielded"]
    for number, (title, scenarios) in enumerate(groups.items()):
        curves = []
        for load, scenario in enumerate(scenarios):
            for mode, system in compare.having(modes, scenario, shown):
                samples = system.table(scenario, "jobs")["response_ns"] / 1000
                label = f"{system.titles[scenario]}, {_title(system, mode)}"
                curves.append(plots.Curve(label, mode, load, samples))
        if len({c.load for c in curves}) > 1:
            svg = plots.distribution(curves, "response time in µs", f"{prefix}-{platform}-{number}")
            count = max(len(c.samples) for c in curves)
            found.append(Figure(
                svg, f"{platform}: {title}. {count:,} jobs a curve; left the distribution, "
                "right its tail on a logarithmic axis."))
    return found


def _others(modes: compare.Modes) -> list[Table]:
    """How the low-priority tasks fared."""
    rows = []
    for system_mode, system in modes.items():
        for scenario in system.scenarios:
            if scenario.endswith("none"):
                continue
            tasks = system.table(scenario, "tasks")
            releases = system.table(scenario, "releases")["response_ns"]
            cells = [system.titles[scenario], _title(system, system_mode)]
            if len(releases):
                s = summarize(releases)
                cells += [f"{v / 1000:.2f}" for v in (s.p50, s.p99, s.maximum)]
            else:
                cells += ["", "", ""]
            summary = system.summary(scenario)
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


def parts(
    store: Store, groups: dict[str, tuple[str, ...]], steps: Sequence[int]
) -> list[Part]:
    """Tables and figures for every platform that has results."""
    def shown(platform: str, modes: compare.Modes) -> list[Part]:
        meta = next(iter(modes.values())).meta
        between = {
            s for sync in (False, True)
            for s in claims.step_scenarios(sync, steps).values()
        } - {s for group in groups.values() for s in group}
        return [
            Text(f"{meta['kernel']}; time: {meta['time']}."),
            *([Text(NOT_SHOWN)] if meta["target"] == "guest" else []),
            *_overview(platform, modes, between), table(modes, between),
            *figures(platform, modes, groups), *claims.steps_figure(platform, modes, steps),
            *_others(modes),
        ]

    return [Text(
        "A SCHED_FIFO 99 task wakes up every millisecond and does a fixed amount of work. "
        "Whenever it looks at the CPU's counter and finds that more time has passed than its "
        "own instructions take, it was interrupted. Beside it run other tasks, all of lower "
        "priority, that set timers. In the paper's experiment the job is a matrix multiplication "
        "of about 200 µs and the low-priority tasks are cyclictest instances."),
        *compare.by_platform(store, shown)]
