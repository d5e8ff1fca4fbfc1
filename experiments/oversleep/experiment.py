# SPDX-License-Identifier: GPL-2.0-or-later
"""How late a job starts: ClockFix, the paper's filters, and what the system offers.

S. Reif, W. Schröder-Preikschat, "Precisely Timed Task Execution", section V (Figs 2 to 6).
"""

from collections.abc import Callable

from experiments.common.claims import EACH, Claim, Found
from experiments.common.experiment import Context, Experiment
from experiments.common.shown import Shown, column
from experiments.common.stats import percentile
from experiments.measure import clockfix_bench, results
from experiments.measure.results import Measured

INTERVALS = {"1us": (1_000, "1 µs"), "10us": (10_000, "10 µs"), "100us": (100_000, "100 µs")}
JUDGED = "100us"
COSTS = "costs"
RIVALS = ("poll", "clock_nanosleep", "nanosleep", "futex", "filter-none", "filter-average",
          "filter-max", "clockfix")
"""The filters are the paper's; nanosleep to futex the standard functions."""
LEARNING = ("nothing", "ema", "average", "maximum", "default")
LEARNED = column(COSTS, "took_ns", "what", count="count")
SECONDS = 20
JOBS = 1_000_000
JITTER = "Fig 3 (Xeon): 35 ns instead of 527 ns; Fig 4 (Raspberry Pi): 728 instead of 3,124 ns"


def row(system: Measured, scenario: str, rival: str) -> dict[str, float] | None:
    """A rival's line of rivals.csv."""
    if not system.has(scenario):
        return None
    table = system.table(scenario, "rivals")
    for i, name in enumerate(table["rival"].tolist()):
        if name == rival:
            return {k: float(v[i]) for k, v in table.items() if k != "rival"}
    return None


def _learning(system: Measured, what: str) -> float:
    """The median of what an estimator takes, ns."""
    return percentile(LEARNED(system, COSTS)[what], 50)


def _compared(ours: str, theirs: str, of: Callable[[dict[str, float]], float]
              ) -> Callable[[Measured], Found | None]:
    """``of`` the first over ``of`` the second, at 100 µs."""
    def metric(system: Measured) -> Found | None:
        rows = [r for name in (ours, theirs) if (r := row(system, JUDGED, name))]
        if len(rows) < 2:
            return None
        a, b = map(of, rows)
        return Found(f"{a:,.0f} against {b:,.0f} ns ({a / b:.1%})", a / b)
    return metric


def _median(ours: str, theirs: str) -> Callable[[Measured], Found | None]:
    return _compared(ours, theirs, lambda r: r["p50_ns"])


def _jitter(ours: str, theirs: str) -> Callable[[Measured], Found | None]:
    return _compared(ours, theirs, lambda r: r["p99_ns"] - r["p1_ns"])


def _standard(system: Measured) -> Found | None:
    """How far apart the medians of the standard functions are."""
    names = ("clock_nanosleep", "nanosleep", "futex")
    found = {n: r["p50_ns"] for n in names if (r := row(system, JUDGED, n))}
    if len(found) < len(names):
        return None
    low, high = min(found.values()), max(found.values())
    return Found(f"{low:,.0f} to {high:,.0f} ns", high / low)


def _cpu(system: Measured) -> Found | None:
    """CPU time that waiting takes."""
    ours, filtered = (row(system, JUDGED, n) for n in ("clockfix", "filter-max"))
    if not ours or not filtered:
        return None
    return Found(f"{ours['cpu_share']:.0%} of a CPU, the paper's maximum "
                 f"{filtered['cpu_share']:.0%}", ours["cpu_share"] / filtered["cpu_share"])


def _fewer(system: Measured) -> Found | None:
    maximum, average = (row(system, JUDGED, f"filter-{n}") for n in ("max", "average"))
    if not maximum or not average:
        return None
    late, more = maximum["share_over_1us"], average["share_over_1us"]
    return Found(f"{late:.2%} against {more:.2%}", late < more)


def _slowest(system: Measured) -> Found | None:
    if not system.has(COSTS):
        return None
    medians = {w: _learning(system, w) for w in LEARNING}
    slowest = max(medians, key=lambda w: medians[w])
    return Found(f"{medians[slowest]:,.0f} ns ({slowest}), nothing {medians['nothing']:,.0f} ns",
                 medians[slowest])


class Oversleep(Experiment):
    """See the module."""

    name = "oversleep"
    title = "Oversleep (ClockFix)"
    of = ("clockfix/src", "clockfix/include")
    claims = (
        Claim("ClockFix: median oversleep of 100 µs at most {:.0%} of nanosleep's",
              _median("clockfix", "nanosleep"), most=0.05, rows="C18", of=EACH,
              paper="Fig 3 (Xeon): median less by 98.2 %; Fig 4: Raspberry Pi 97.7 %, Odroid "
              "95.6 %"),
        Claim("ClockFix: jitter (1st to 99th percentile) at 100 µs at most {:.0%} of nanosleep's",
              _jitter("clockfix", "nanosleep"), most=0.1, rows="C17", of=EACH, paper=JITTER),
        Claim("The paper's maximum: jitter at 100 µs at most {:.0%} of nanosleep's",
              _jitter("filter-max", "nanosleep"), most=0.1, rows="C10", of=EACH, paper=JITTER),
        Claim("Worker and list without learning: median at most {} times clock_nanosleep's",
              _median("filter-none", "clock_nanosleep"), most=1.15, rows="C15", of=EACH,
              paper="V-A: the worker causes only a minor overhead, if any"),
        Claim("ClockFix's median oversleep is at most {} times that of a polling loop, which is as "
              "exact as the clock", _median("clockfix", "poll"), most=2, rows="C19", of=EACH,
              paper="Fig 5: below 3 times the clock's precision"),
        Claim("clock_nanosleep, nanosleep and futex: medians at 100 µs at most {} times apart",
              _standard, most=1.25, rows="C29", of=EACH,
              paper="V-A: standard functions perform similarly"),
        Claim("ClockFix's own estimator has at least the jitter of the paper's maximum",
              _jitter("clockfix", "filter-max"), least=1, rows="C30", of=EACH, paper="V-A: more "
              "sophisticated learning would not lead to more accurate execution times"),
        Claim("What ClockFix's own estimator buys: CPU time at 100 µs, of that with the paper's "
              "maximum", _cpu, most=1, of=EACH),
        Claim("The maximum has fewer jobs later than 1 µs than the average", _fewer, least=True,
              rows="C28", of=EACH, paper="V-A: the average is more susceptible to tails"),
        Claim("Learning takes at most {} ns, whichever the filter", _slowest, most=200, rows="C20",
              of=EACH, paper="Fig 6 (Xeon): average and maximum about 80 ns, moving average less, "
              "nothing 18 ns"),
    )

    shown = (
        Shown("oversleep, ns", column("quantiles", "late_ns", "rival"),
              drawn=tuple(INTERVALS)),
        Shown("learning, ns", LEARNED, paper={"the paper: 80 ns": 80}))

    def scenarios(self) -> dict[str, str]:
        return {**{name: title for name, (_, title) in INTERVALS.items()},
                COSTS: "the clock, and learning"}

    def run(self, context: Context) -> None:
        intervals = [s for s in INTERVALS if context.wants(s)]
        costs = [COSTS] if context.wants(COSTS) else []
        if not intervals + costs:
            return
        system = clockfix_bench.host_system()
        commands = {}
        with (context.progress.bar(f"{self.name}: clockfix-bench", None),
              context.store(self.name).replacing(system.name) as directory):
            if intervals:
                measured, command = clockfix_bench.run(
                    list(RIVALS), intervals, context.samples(SECONDS), context.samples(JOBS))
                for scenario in intervals:
                    clockfix_bench.keep(directory / scenario, measured, INTERVALS[scenario][0])
                    commands[scenario] = command
            for scenario in costs:
                commands[scenario] = clockfix_bench.costs(directory / scenario,
                                                          context.samples(JOBS))
            titles = self.scenarios()
            results.write_host_meta(directory, system, {s: titles[s] for s in commands}, commands)


EXPERIMENT = Oversleep()
