# SPDX-License-Identifier: GPL-2.0-or-later
"""The context-switch experiment's samples, and its part of the report."""


from dataclasses import dataclass

import numpy as np

from experiments.common import compare
from experiments.measure import results, spans
from experiments.measure.results import Measured, Store
from experiments.report.page import Figure, Part, Table, Text
from experiments.report.stats import Samples, middle_mean, percentile

PERCENTILES = (0, 5, 50, 95, 100)
WHAT = (
    "The paper timed the code that TimerShield adds to a context switch, without load and with 50 "
    "low-priority tasks; its tracepoints could not tell the overhead from the processing of "
    "deferred timers. Here a plugin of the emulator counts every instruction from the entry of "
    "__schedule() to finish_task_switch() of the next task, on stock and shielded kernels; the "
    "difference is what the shield adds. Ping-pong isolates switches within one "
    "level and between levels (with and without 50 pending timers of other tasks); the 1 kHz job "
    "alone and next to 50 tasks is the paper's set-up. __timershield_switch(), which changes the "
    "threshold and sets the device for another event where that is needed, is shown apart. "
    "Deferred timers expire behind the switch, in __timershield_release()."
)


def _of(system: Measured, scenario: str, span: str) -> results.Table:
    table = system.table(scenario, "spans")
    return spans.select(table, table["span"] == span)


def switches(system: Measured, scenario: str) -> Samples:
    """Instructions of each context switch."""
    return np.array(_of(system, scenario, "switch")["instructions"])


def added(stock: Measured, shielded: Measured, scenario: str) -> float:
    """What the shield adds to a typical switch, instructions.

    It is the difference of the means without the outer twentieths. Where switches of two or more
    kinds take turns, a median may be of either kind, and the difference of two of them says
    little; where all are of one kind, this is the difference of the medians.
    """
    a, b = (middle_mean(switches(s, scenario)) for s in (shielded, stock))
    return a - b


def error(stock: Measured, shielded: Measured, scenario: str) -> float:
    """The standard error of :func:`throughput`, as a share of it."""
    shares = []
    for system in (stock, shielded):
        rounds = system.table(scenario, "rounds")["round_ns"]
        shares.append(rounds.std() / len(rounds) ** 0.5 / rounds.mean())
    return float(np.hypot(*shares))


def slow_calls(system: Measured, scenario: str) -> int:
    """How often a switch changed the threshold, or expired what that released."""
    return sum(len(_of(system, scenario, span)["span"]) for span in ("threshold", "release"))


@dataclass(frozen=True)
class TimerWork:
    """Instructions of switches, what they expire and timer interrupts together, in a window."""

    total: int
    switches: int
    interrupts: int


def timer_work(system: Measured, scenario: str) -> TimerWork:
    """Of a scenario."""
    interrupts, released = (_of(system, scenario, span)["instructions"]
                            for span in ("interrupt", "release"))
    switch = switches(system, scenario)
    return TimerWork(int(interrupts.sum() + released.sum() + switch.sum()), len(switch),
                     len(interrupts))


def throughput(stock: Measured, shielded: Measured, scenario: str) -> float:
    """Rounds or messages per time, shielded over stock."""
    a, b = (s.summary(scenario) for s in (shielded, stock))
    return (a["rounds"] * a["done_each"] / a["elapsed_ns"]) / (
        b["rounds"] * b["done_each"] / b["elapsed_ns"])


def _cells(samples: Samples) -> list[str]:
    return [*(f"{percentile(samples, p):.0f}" for p in PERCENTILES), f"{len(samples):,}"]


def _table(modes: compare.Modes) -> Table:
    rows = []
    titles: dict[str, str] = {}
    for measured in modes.values():
        titles.update(measured.titles)
    for scenario, title in titles.items():
        for mode in ("stock", "shielded"):
            system = modes.get(mode)
            if not system or not system.has(scenario):
                continue
            samples = switches(system, scenario)
            more = ["", ""]
            stock = modes.get("stock")
            if mode == "shielded" and stock and stock.has(scenario):
                before = switches(stock, scenario)
                more = [f"{percentile(samples, 50) - percentile(before, 50):+.0f}",
                        f"{added(stock, system, scenario):+.0f}"]
            rows.append([title, f"switch, {mode}", *_cells(samples), *more])
            title = ""
        system = modes.get("shielded")
        if system and system.has(scenario):
            samples = _of(system, scenario, "threshold")["instructions"]
            if len(samples):
                rows.append(["", "  threshold changed", *_cells(samples), "", ""])
    return Table(["load", "what", "min", "p5", "p50", "p95", "max", "samples",
                  "p50 − stock's", "typical − stock's"], rows,
                 "Instructions (ns of guest time). Typical: the mean without the outer twentieths; "
                 "where switches of several kinds take turns, the median may be of either.",
                 text_columns=2)


def _throughput(modes: compare.Modes) -> list[Table]:
    if not {"stock", "shielded"} <= modes.keys():
        return []
    rows = []
    for scenario in modes["shielded"].scenarios:
        if scenario.startswith("job-") or not compare.both(scenario, modes["stock"]):
            continue
        a, b = (modes[m].summary(scenario) for m in ("stock", "shielded"))
        rows.append([
            modes["shielded"].titles[scenario],
            *(f"{1e6 * s['rounds'] * s['done_each'] / s['elapsed_ns']:,.1f}" for s in (a, b)),
            f"{throughput(modes['stock'], modes['shielded'], scenario):.4f}",
            f"{error(modes['stock'], modes['shielded'], scenario):.4f}",
            f"{int(a['rounds'] * a['done_each']):,}"])
    return [Table(["load", "stock", "shielded", "shielded / stock", "± (standard error)", "count"],
                  rows, "Rounds of ping-pong (two switches each), or messages, per ms. Ordinary "
                  "tasks that send messages are preempted at other places as soon as one "
                  "instruction differs: their throughput scatters, and is not judged where its "
                  "standard error is above a quarter of a percent.")]


def _figure(platform: str, modes: compare.Modes) -> list[Figure]:
    def case(scenario: str, word: str) -> compare.Case:
        return word, scenario, lambda system: switches(system, scenario)

    return compare.candlesticks(
        modes, ("stock", "shielded"), (
            case("fair", "ordinary\ntasks"), case("fifo", "FIFO 80\nboth"),
            case("fifo-fifo", "FIFO 80\nand 70"), case("fifo-fair", "FIFO 80,\nordinary"),
            case("job-none", "1 kHz job,\nno load"),
            case("job-sleepers-50", "1 kHz job,\n50 tasks"),
        ),
        "instructions (= ns of guest time)", f"switch-{platform}",
        f"{platform}: from __schedule() to the next task, deferred timers' serving left out; "
        "minimum, 5th, 50th, 95th percentile, maximum; at least {least} switches each.")


def parts(store: Store) -> list[Part]:
    """Candlesticks, table and throughput of every platform."""
    return [Text(WHAT), Text(compare.WHY_GUEST), *compare.by_platform(
        store, lambda platform, modes: [
            *_figure(platform, modes), _table(modes), *_throughput(modes)])]
