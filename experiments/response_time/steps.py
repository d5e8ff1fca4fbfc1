# SPDX-License-Identifier: GPL-2.0-or-later
"""From how many low-priority tasks on the shield pays: the response-time experiment's steps."""

from experiments.common import compare
from experiments.measure.results import Measured
from experiments.report import plots
from experiments.report.page import Figure, Table
from experiments.report.stats import Samples

PAPER: dict[bool, plots.Marks] = {True: {"the paper: pays from here on": 3},
                                  False: {"the paper, Intel: pays from here on": 5}}


NUMBERS = (*range(1, 11), 15, 20, 30, 40, 50, 70, 80, 100)
"""Of low-priority tasks, for the figure of where the shield begins to pay."""


def scenario(synchronized: bool, n: int) -> str:
    """With ``n`` tasks."""
    return f"{'sync' if synchronized else 'sleepers'}-{n}"


def measured(synchronized: bool, *systems: Measured) -> dict[int, str]:
    """Number of tasks -> scenario, of those that all ``systems`` have."""
    return {n: name for n in NUMBERS if compare.both(name := scenario(synchronized, n), *systems)}


def pays_from(stock: Measured, shielded: Measured, scenarios: dict[int, str]) -> int | None:
    """From how many tasks on the shielded mean is below stock's, for that many and all more."""
    first = None
    for n, name in sorted(scenarios.items(), reverse=True):
        a, b = (s.table(name, "jobs")["response_ns"].mean() for s in (shielded, stock))
        if a >= b:
            break
        first = n
    return first


def steps_figure(platform: str, modes: compare.Modes) -> list[Figure | Table]:
    """Mean and maximum against the number of tasks; the figures behind it as a table."""
    parts: list[Figure | Table] = []
    if not {"stock", "shielded"} <= modes.keys():
        return []
    stock, shielded = modes["stock"], modes["shielded"]
    for synchronized, word in ((False, "unsynchronized"), (True, "synchronized")):
        scenarios = measured(synchronized, stock, shielded)
        if len(scenarios) < 2:
            continue
        data = [[s.table(name, "jobs")["response_ns"] / 1000 for name in scenarios.values()]
                for s in (stock, shielded)]
        lines = [plots.Line(f"{mode}, {what}", mode, load, list(scenarios), [of(v) for v in found])
                 for mode, found in zip(("stock", "shielded"), data, strict=True)
                 for load, what, of in ((0, "mean", _mean), (2, "maximum", _maximum))]
        rows = [[str(n), f"{a.mean():.3f}", f"{b.mean():.3f}",
                 f"{(b.mean() - a.mean()) * 1000:+.0f}", f"{a.max():.2f}", f"{b.max():.2f}"]
                for n, a, b in zip(scenarios, *data, strict=True)]
        parts.append(Figure(
            plots.lines(lines, "low-priority tasks", "response time in µs",
                        f"steps-{platform}-{word}", platform, PAPER[synchronized]),
            f"{platform}: response time next to {word} low-priority tasks, {len(data[0][0]):,} "
            "jobs a point."))
        first = pays_from(stock, shielded, scenarios)
        pays = "nowhere" if first is None else f"from {first} tasks on"
        parts.append(Table(
            ["tasks", "stock, mean", "shielded, mean", "difference (ns)", "stock, max",
             "shielded, max"], rows,
            f"{platform}, {word}; response times in µs. The shield pays {pays} (mean below "
            "stock's); the paper: from 3 tasks (synchronized) and 5 (unsynchronized) on Intel, "
            "from 3 on ARM."))
    return parts


def _mean(samples: Samples) -> float:
    return float(samples.mean())


def _maximum(samples: Samples) -> float:
    return float(samples.max())
