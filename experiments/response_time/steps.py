# SPDX-License-Identifier: GPL-2.0-or-later
"""From how many low-priority tasks on the shield pays: the response-time experiment's steps."""

from collections.abc import Sequence

from experiments.common import compare
from experiments.report import plots
from experiments.report.page import Figure, Table
from lab.measure.results import Measured

PAPER: dict[bool, plots.Marks] = {True: {"the paper: pays from here on": 3},
                                  False: {"the paper, Intel: pays from here on": 5}}


def step_scenarios(synchronized: bool, steps: Sequence[int]) -> dict[int, str]:
    """Number of tasks -> scenario."""
    kind = "sync" if synchronized else "sleepers"
    return {n: f"{kind}-{n}" for n in steps}


def pays_from(stock: Measured, shielded: Measured, scenarios: dict[int, str]) -> int | None:
    """From how many tasks on the shielded mean is below stock's, for that many and all more."""
    first = None
    for n, scenario in sorted(scenarios.items(), reverse=True):
        if not compare.both(scenario, stock, shielded):
            continue
        a, b = (s.table(scenario, "jobs")["response_ns"].mean() for s in (shielded, stock))
        if a >= b:
            break
        first = n
    return first


def steps_figure(
    platform: str, modes: compare.Modes, steps: Sequence[int]
) -> list[Figure | Table]:
    """Mean and maximum against the number of tasks; the figures behind it as a table."""
    parts: list[Figure | Table] = []
    shown = {m: s for m, s in modes.items() if m in ("stock", "shielded")}
    if len(shown) < 2:
        return []
    for synchronized, word in ((False, "unsynchronized"), (True, "synchronized")):
        scenarios = step_scenarios(synchronized, steps)
        found = [n for n in steps if compare.both(scenarios[n], *shown.values())]
        if len(found) < 2:
            continue
        lines = []
        rows = []
        data = {
            mode: [system.table(scenarios[n], "jobs")["response_ns"] / 1000
                   for n in found]
            for mode, system in shown.items()
        }
        for mode in ("stock", "shielded"):
            lines.append(plots.Line(f"{mode}, mean", mode, 0, found,
                                    [float(v.mean()) for v in data[mode]]))
            lines.append(plots.Line(f"{mode}, maximum", mode, 2, found,
                                    [float(v.max()) for v in data[mode]]))
        for i, n in enumerate(found):
            a, b = data["stock"][i], data["shielded"][i]
            rows.append([str(n), f"{a.mean():.3f}", f"{b.mean():.3f}",
                         f"{(b.mean() - a.mean()) * 1000:+.0f}", f"{a.max():.2f}",
                         f"{b.max():.2f}"])
        count = len(data["stock"][0])
        parts.append(Figure(
            plots.lines(lines, "low-priority tasks", "response time in µs",
                        f"steps-{platform}-{word}", platform, PAPER[synchronized]),
            f"{platform}: response time next to {word} low-priority tasks, {count:,} jobs a "
            "point."))
        first = pays_from(shown["stock"], shown["shielded"], scenarios)
        pays = "nowhere" if first is None else f"from {first} tasks on"
        parts.append(Table(
            ["tasks", "stock, mean", "shielded, mean", "difference (ns)", "stock, max",
             "shielded, max"], rows,
            f"{platform}, {word}; response times in µs. The shield pays {pays} (mean below "
            "stock's); the paper: from 3 tasks (synchronized) and 5 (unsynchronized) on Intel, "
            "from 3 on ARM."))
    return parts
