# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables and distributions of the response loop's jobs."""

from collections.abc import Collection

from experiments.common import compare
from experiments.measure.results import Measured
from experiments.report import plots
from experiments.report.page import Figure, Table
from experiments.report.stats import summarize

HEAD = ["load", "kernel", "p50", "p95", "p99", "p99.9", "max", "interruptions/job",
        "stolen/job", "jobs"]
NOT_SHOWN = (
    "Guest figures are taken under instruction-counted time: one instruction takes one "
    "nanosecond, on one virtual CPU. That makes interference exact and repeatable, but models "
    "neither caches nor the cost of an interrupt in hardware, so it understates what a real "
    "machine loses without the shield."
)
MODE_TITLES = {"stock": "stock", "off": "shield off", "shielded": "shielded", "module": "module"}


def timed(system: Measured) -> list[str]:
    """Scenarios whose jobs do a fixed amount of work."""
    others = ("endless-", "matrix-", "most-", "spare-")
    return [s for s in system.scenarios if not s.startswith(others)]


def idle(scenario: str) -> str:
    """The same without load: jobs of some scenarios are longer, or fall on ticks."""
    kind = scenario.partition("-")[0]
    return f"{kind}-none" if kind in ("long", "paper", "phase", "two") else "none"


def kernel_title(system: Measured) -> str:
    """What a table calls the kernel."""
    return "unloaded" if system.system.unloads else MODE_TITLES[system.system.mode]


def row(system: Measured, scenario: str) -> list[str]:
    """The table's row for one scenario on one system."""
    jobs = system.table(scenario, "jobs")
    s = summarize(jobs["response_ns"])
    cells = [kernel_title(system)]
    cells += [f"{v / 1000:.2f}" for v in (s.p50, s.p95, s.p99, s.p999, s.maximum)]
    cells.append(f"{jobs['interruptions'].mean():.3f}".rstrip("0").rstrip("."))
    cells.append(f"{jobs['stolen_ns'].mean() / 1000:.2f}")
    cells.append(f"{s.count:,}")
    return cells


def titles_of(
    modes: compare.Modes, leave_out: Collection[str]
) -> dict[str, str]:
    """Names and titles of all fixed-work scenarios that any of ``modes`` has but ``leave_out``."""
    found: dict[str, str] = {}
    for system in modes.values():
        titles = system.titles
        found.update((s, titles[s]) for s in timed(system)
                     if s not in leave_out)
    return found


def table(
    modes: compare.Modes, leave_out: Collection[str] = ()
) -> Table:
    """All fixed-work scenarios of one platform but ``leave_out``."""
    rows: list[list[str]] = []
    for scenario, title in titles_of(modes, leave_out).items():
        for _, system in compare.having(modes, scenario, ("stock", "off", "shielded")):
            rows.append([title, *row(system, scenario)])
            title = ""
    return Table(HEAD, rows, "Response times in µs, from the release of a job to its end; "
                 "nearest-rank percentiles.", text_columns=2)


def figures(
    platform: str, modes: compare.Modes, groups: dict[str, tuple[str, ...]], prefix: str = "cdf",
    marks: plots.Marks | None = None,
) -> list[Figure]:
    """A distribution for each group of scenarios; ``marks`` are the paper's."""
    found = []
    where = f"{platform} ({' '.join(next(iter(modes.values())).meta['kernel'].split()[:3])})"
    shown = [m for m in ("stock", "shielded") if m in modes] or list(modes)
    if shown == ["shielded"] and "off" in modes:
        shown = ["off", "shielded"]
    for number, (title, scenarios) in enumerate(groups.items()):
        curves = []
        for load, scenario in enumerate(scenarios):
            for mode, system in compare.having(modes, scenario, shown):
                samples = system.table(scenario, "jobs")["response_ns"] / 1000
                label = f"{system.titles[scenario]}, {kernel_title(system)}"
                curves.append(plots.Curve(label, mode, load, samples))
        if len({c.load for c in curves}) > 1:
            svg = plots.distribution(curves, "response time in µs", f"{prefix}-{platform}-{number}",
                                     where, marks)
            count = max(len(c.samples) for c in curves)
            found.append(Figure(
                svg, f"{platform}: {title}. {count:,} jobs a curve; left the distribution, "
                "right its tail on a logarithmic axis."))
    return found
