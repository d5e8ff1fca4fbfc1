# SPDX-License-Identifier: GPL-2.0-or-later
"""What the shield gives and costs, off, with classes and with levels, in one boot of one kernel."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from experiments.common import running
from experiments.common.claims import SHIELDED, Claim, Found
from experiments.common.experiment import Context, Experiment, Scenario
from experiments.common.shown import Shown, column
from experiments.measure.results import Measured
from lab.kernels.platforms import Mode

SCENARIO = "price"
OFF, CLASSES, LEVELS = 0, 1, 2
MODES = (Mode.STOCK, Mode.SHIELDED, Mode.MODULE)
TOGETHER = ("sync-300", "sync-1000")
AT_REST = ("job", "arm", "cancel", "pair-fifo", "pair-one-level", "pair-ordinary")


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
    classes: float
    """The bound for kernel.timershield=1."""
    levels: float
    least: bool = False


GOALS = (
    Goal("idle job, median over off", "job", "median_ns", _ratio, 1.0004, 1.0007),
    Goal("interruptions a job by its own process's timers", "own-200", "interruptions",
         lambda on, _: on, 0, 0),
    *(Goal(f"spare time next to sleepers ({words}), over off", f"spare-{row}", "rounds", _ratio,
           0.995, 0.986, least=True)
      for words, row in (("1,000 of 90 levels", "90-levels"), ("1,000 of one level", "one-level"),
                         ("120 ordinary", "ordinary"))),
    Goal("timer interrupts, 1,000 ordinary timers held, 2.5 µs apart, over off", "release-apart",
         "interrupts", _ratio, 1.05, 1.05),
    Goal("timer interrupts, 1,000 ordinary timers held, of one instant: 20 µs each (R12)",
         "release-together", "interrupts", lambda on, _: on, 50, 50),
    Goal("FIFO 80 and 70 wake each other, median round, ns more", "pair-fifo", "median_ns", _more,
         10, 50),
    Goal("an ordinary task next to one that arms timers: rounds over off", "neighbour", "rounds",
         _ratio, 0.995, 0.995, least=True),
)


def figure(system: Measured, row: str, name: str, mode: int) -> float | None:
    """Of price.csv, if it has it."""
    table = system.table(SCENARIO, "price")
    chosen = (table["name"] == row) & (table["kind"] == name) & (table["mode"] == mode)
    return float(table["value"][chosen][0]) if chosen.any() else None


def _compared(system: Measured, row: str, name: str, mode: int,
              compare: Callable[[float, float], float]) -> float | None:
    on, off = (figure(system, row, name, m) for m in (mode, OFF))
    return None if on is None or off is None else compare(on, off)


def _missed(mode: int) -> Callable[[Measured], Found | None]:
    def metric(system: Measured) -> Found | None:
        if not system.has(SCENARIO):
            return None
        missed, judged = [], 0
        for goal in GOALS:
            value = _compared(system, goal.row, goal.figure, mode, goal.compare)
            if value is None:
                continue
            judged += 1
            bound = goal.classes if mode == CLASSES else goal.levels
            if value < bound if goal.least else value > bound:
                missed.append(f"{goal.words}: {value:.5g}")
        return Found("; ".join(missed) or "none", len(missed)) if judged else None
    return metric


def _modes(system: Measured, row: str, name: str) -> Iterator[tuple[str, float, float]]:
    """Row and mode, the figure there, and the one with the shield off."""
    off = figure(system, row, name, OFF)
    for mode in (CLASSES, LEVELS):
        on = figure(system, row, name, mode)
        if on is not None and off is not None:
            yield f"{row}, {mode}", on, off


def _together(name: str, words: str) -> Callable[[Measured], Found | None]:
    """Tasks that wake at one instant: the worst of their number and the mode."""
    def metric(system: Measured) -> Found | None:
        if not system.has(SCENARIO):
            return None
        found = [f for row in TOGETHER for f in _modes(system, row, name)]
        if not found:
            return None
        where, on, off = max(found, key=lambda f: _ratio(f[1], f[2]))
        return Found(f"{on:,.0f}, off {off:,.0f}{words} ({where})", _ratio(on, off))
    return metric


def _varied(system: Measured) -> Found | None:
    """Spare time over that with the shield off, of 90 priorities and of one."""
    if not system.has(SCENARIO):
        return None
    many, one = (_compared(system, f"spare-{row}", "rounds", LEVELS, _ratio)
                 for row in ("90-levels", "one-level"))
    if many is None or one is None:
        return None
    return Found(f"{many:.4f} of off's, of one priority {one:.4f}", many / one)


def _at_rest(stock: Measured, shielded: Measured) -> Found | None:
    if not (stock.has(SCENARIO) and shielded.has(SCENARIO)):
        return None
    found = {row: _ratio(b, a) - 1 for row in AT_REST
             if (a := figure(stock, row, "median_ns", OFF)) is not None
             and (b := figure(shielded, row, "median_ns", OFF)) is not None}
    if not found:
        return None
    row = max(found, key=lambda r: found[r])
    return Found(f"{found[row]:+.2%} ({row})", found[row])


class Price(Experiment):
    """See the module."""

    name = "price"
    title = "What the shield costs, by mode"
    guests_only = "it needs a kernel for itself"
    claims = (
        *(Claim(f"kernel.timershield={mode}: goals of the price that are missed", _missed(mode),
                most=0, of=SHIELDED, shield=str(mode)) for mode in (CLASSES, LEVELS)),
        Claim("300 and 1,000 tasks that wake together: at most {} times the timer interrupts",
              _together("interrupts", ""), most=1.05, of=SHIELDED, rows="T44", shield="1 and 2"),
        Claim("300 and 1,000 tasks that wake together: the last one is done at most {} times as "
              "late", _together("mean_ns", " ns"), most=1.05, of=SHIELDED, rows="T45",
              shield="1 and 2"),
        Claim("Sleepers of 90 priorities, and of one: spare throughput", _varied, of=SHIELDED,
              paper="IV-B: more varied priorities would incur even lower overhead", rows="T42",
              shield="2"),
        Claim("Switched off, arming, switches and the job take at most {:.1%} longer than on stock",
              _at_rest, most=0.005, shield="0"),
    )
    shown = (Shown("off (0), classes (1), levels (2)",
                   column("price", "value", "name", "kind", "mode"), "mean"),)

    def scenarios(self) -> dict[str, str]:
        return {SCENARIO: "all rows, in each mode"}

    def run(self, context: Context) -> None:
        systems = [s for s in context.systems() if s.mode in MODES]
        if context.wants(SCENARIO) and systems:
            running.run_guest(context, self.name, systems, "price",
                              [Scenario(SCENARIO, self.title, (), 600)])


EXPERIMENT = Price()
