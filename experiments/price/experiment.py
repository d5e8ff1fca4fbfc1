# SPDX-License-Identifier: GPL-2.0-or-later
"""What the shield gives and costs, off, with classes and with levels, in one boot of one kernel."""

import math
from collections.abc import Callable
from typing import NamedTuple

from experiments.common import running
from experiments.common.claims import SHIELDED, Claim, Found
from experiments.common.experiment import Context, Experiment, Scenario
from experiments.measure.results import Measured, Store
from experiments.report.page import Part, Table, Text
from lab.kernels.platforms import Mode

SCENARIO = "price"
OFF, CLASSES, LEVELS = "0", "1", "2"


def _more(on: float, off: float) -> float:
    return on - off


def _ratio(on: float, off: float) -> float:
    return on / off if off else math.inf


class Goal(NamedTuple):
    """What a figure with the shield may be, compared with the same one without."""

    words: str
    row: str
    figure: str
    compare: Callable[[float, float], float]
    classes: float | None = None
    """The bound for kernel.timershield=1; none: reported."""
    levels: float | None = None
    least: bool = False


GOALS = (
    Goal("idle job, median over off", "job", "median_ns", _ratio, 1.0004, 1.0007),
    Goal("interruptions a job by its own process's timers", "own-200", "interruptions",
         lambda on, _: on, 0, 0),
    *(Goal(f"spare time next to sleepers ({words}), over off", f"spare-{row}", "rounds", _ratio,
           0.995, 0.986, least=True)
      for words, row in (("1,000 of 90 levels", "90-levels"), ("1,000 of one level", "one-level"),
                         ("120 ordinary", "ordinary"))),
    Goal("300 synchronized tasks: the last one done, over off", "sync-300", "mean_ns", _ratio,
         1.01, 1.05),
    Goal("1,000 synchronized tasks: the last one done, over off", "sync-1000", "mean_ns", _ratio),
    *(Goal(f"timer interrupts, 1,000 ordinary timers held, {words}, over off", row, "interrupts",
           _ratio, 1.05, 1.05)
      for words, row in (("2.5 µs apart", "release-apart"),
                         ("of one instant", "release-together"))),
    Goal("FIFO 80 and 70 wake each other, median round, ns more", "pair-fifo", "median_ns", _more,
         10, 50),
    Goal("the same, off over on", "pair-fifo", "median_ns", lambda on, off: off / on, 0.998, 0.991,
         least=True),
    Goal("an ordinary task next to one that arms timers: rounds over off", "neighbour", "rounds",
         _ratio, 0.995, 0.995, least=True),
)


def figure(system: Measured, row: str, name: str, mode: str) -> float:
    """Of price.csv."""
    table = system.table(SCENARIO, "price")
    chosen = ((table["name"] == row) & (table["kind"] == name)
              & (table["mode"] == int(mode)))
    return float(table["value"][chosen][0])


def _compared(system: Measured, goal: Goal, mode: str) -> float:
    return goal.compare(figure(system, goal.row, goal.figure, mode),
                        figure(system, goal.row, goal.figure, OFF))


def _met(goal: Goal, bound: float | None, value: float) -> bool | None:
    if bound is None:
        return None
    return value >= bound if goal.least else value <= bound


def _missed(mode: str) -> Callable[[Measured], Found | None]:
    def metric(system: Measured) -> Found | None:
        if not system.has(SCENARIO):
            return None
        missed = []
        for goal in GOALS:
            value = _compared(system, goal, mode)
            if _met(goal, goal.classes if mode == CLASSES else goal.levels, value) is False:
                missed.append(f"{goal.words}: {value:.5g}")
        return Found("; ".join(missed) or "all", len(missed))
    return metric


class Price(Experiment):
    """See the module."""

    name = "price"
    title = "What the shield costs, by mode"
    guests_only = "it needs a kernel with the shield built in, and for itself"
    claims = tuple(
        Claim(f"kernel.timershield={mode}: goals of the table that are missed, at most {{}}",
              _missed(mode), most=0, of=SHIELDED)
        for mode in (CLASSES, LEVELS))

    def scenarios(self) -> dict[str, str]:
        return {SCENARIO: "all rows, in each mode"}

    def run(self, context: Context) -> None:
        systems = [s for s in context.systems() if s.mode is Mode.SHIELDED]
        if context.wants(SCENARIO) and systems:
            running.run_guest(context, self.name, systems, "price",
                              [Scenario(SCENARIO, self.title, (), 600)])

    def parts(self, store: Store) -> list[Part]:
        return [Text(
            "One boot of one kernel, one CPU: each row with the shield off, with classes "
            "(kernel.timershield=1) and with levels (2). An instruction takes a nanosecond: caches "
            "and the entry of an interrupt cost nothing."),
            *(part for system in store if system.has(SCENARIO)
              for part in (Text(system.system.place, heading=True), _goals(system),
                           _figures(system)))]


def _goals(system: Measured) -> Table:
    rows = []
    for goal in GOALS:
        cells = [goal.words]
        for mode, bound in ((CLASSES, goal.classes), (LEVELS, goal.levels)):
            value = _compared(system, goal, mode)
            met = _met(goal, bound, value)
            cells += [f"{value:.5g}", "" if bound is None else f"{'≥' if goal.least else '≤'} "
                      f"{bound:g}: {'met' if met else 'missed'}"]
        rows.append(cells)
    return Table(["", "classes", "goal", "levels", "goal"], rows,
                 "Each with the shield on, compared with the same kernel and the shield off.")


def _figures(system: Measured) -> Table:
    table = system.table(SCENARIO, "price")
    rows: dict[tuple[str, str], list[str]] = {}
    for row, name, value, samples in zip(*(table[c] for c in ("name", "kind", "value", "samples")),
                                         strict=True):
        cells = rows.setdefault((str(row), str(name)), [f"{samples:,}"])
        cells.insert(-1, f"{value:,.1f}")
    return Table(["row", "figure", "off", "classes", "levels", "samples"],
                 [[*key, *cells] for key, cells in rows.items()],
                 "All figures; those of samples in ns.", text_columns=2)


EXPERIMENT = Price()
