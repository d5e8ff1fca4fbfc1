# SPDX-License-Identifier: GPL-2.0-or-later
"""The response-time experiment's rows of the summary, and where the shield begins to pay."""

from collections.abc import Sequence

from experiments.common import compare
from lab.measure.results import Measured, Store
from lab.report import plots
from lab.report.claims import Claim
from lab.report.page import Figure, Table
from lab.report.stats import summarize

MARGIN_NS = 2000


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


def _spread(system: Measured, scenario: str) -> str:
    idle = summarize(system.table("none", "jobs")["response_ns"])
    load = summarize(system.table(scenario, "jobs")["response_ns"])
    return (f"median {(load.p50 - idle.p50) / 1000:+.2f} µs, "
            f"max {(load.maximum - idle.maximum) / 1000:+.2f} µs")


def _unaffected(store: Store, text: str, paper: str, scenario: str) -> list[Claim]:
    def judge(stock: Measured, shielded: Measured) -> compare.Judged:
        if not all(compare.both(s, stock, shielded) for s in ("none", scenario)):
            return None
        jobs = shielded.table(scenario, "jobs")
        interrupted = int(jobs["interruptions"].sum())
        idle = shielded.table("none", "jobs")["response_ns"].max()
        more = float(jobs["response_ns"].max() - idle)
        return (f"stock {_spread(stock, scenario)}; "
                f"shielded {_spread(shielded, scenario)}, {interrupted} interruptions",
                interrupted == 0 and more <= MARGIN_NS)

    return compare.claim(
        store, text, paper, judge,
        "holds: no interruption, maximum within 2 µs of no load",
        "missed: an interruption, or a maximum more than 2 µs above no load")


def claims(store: Store, steps: Sequence[int]) -> list[Claim]:
    """Figs 5 to 8."""

    def judge(stock: Measured, shielded: Measured) -> compare.Judged:
        parts = []
        for synchronized, word in ((True, "synchronized"), (False, "unsynchronized")):
            scenarios = step_scenarios(synchronized, steps)
            if compare.both(scenarios[steps[-1]], stock, shielded):
                n = pays_from(stock, shielded, scenarios)
                parts.append(f"{word} {'never' if n is None else n}")
        return ("; ".join(parts), None) if parts else None

    return [
        *_unaffected(
            store, "100 unsynchronized low-priority tasks do not delay a high-priority job "
            "(difference to no load)",
            "Figs 5, 6: Linux a long tail to the right; TimerShield unchanged but for a negligible "
            "shift (cache misses)", "sleepers-100"),
        *_unaffected(
            store, "Nor do 100 synchronized ones",
            "Figs 7, 8: Linux grows with the number of tasks; TimerShield unchanged but for a "
            "slight shift (cache misses)", "sync-100"),
        *compare.claim(
            store, "From how many low-priority tasks on the shield pays (mean response time)",
            "Intel: synchronized 3, unsynchronized 5; ARM: 3, 3", judge,
            "see the figure: below that the shield costs at most what is shown there", ""),
    ]


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
                        f"steps-{platform}-{word}"),
            f"{platform}: response time beside {word} low-priority tasks, {count:,} jobs a point."))
        first = pays_from(shown["stock"], shown["shielded"], scenarios)
        pays = "nowhere" if first is None else f"from {first} tasks on"
        parts.append(Table(
            ["tasks", "stock, mean", "shielded, mean", "difference (ns)", "stock, max",
             "shielded, max"], rows,
            f"{platform}, {word}; response times in µs. The shield pays {pays} (mean below "
            "stock's); the paper: from 3 tasks (synchronized) and 5 (unsynchronized) on Intel, "
            "from 3 on ARM."))
    return parts
