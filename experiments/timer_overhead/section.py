# SPDX-License-Identifier: GPL-2.0-or-later
"""The timer-overhead experiment's part of the report."""

from dataclasses import dataclass

import numpy as np

from experiments.common import compare
from experiments.measure import spans
from experiments.measure.results import Measured, Store
from experiments.report.page import Figure, Part, Table, Text
from experiments.report.stats import Samples, percentile
from experiments.timer_overhead import queue_bench

WHAT = (
    "The paper timed enqueue_hrtimer() and __remove_hrtimer() by cycle counters, without load and "
    "with one 1 kHz task and 50 low-priority ones. Here a plugin of the emulator counts the "
    "instructions that the kernel executes in each call, without anything being put into the "
    "kernel: enqueue_hrtimer() itself, hrtimer_start_range_ns() and hrtimer_try_to_cancel() around "
    "it (of the latter only calls that removed a timer; gcc inlines __remove_hrtimer() there in "
    "some kernels, so that it cannot be compared by itself), and adding to and removing from the "
    "tree alone. Samples are the job's own sleep and a timerfd that it arms and cancels, the tick, "
    "and what the low-priority tasks do. An operation that changes the next event programs "
    "the device, which is what the upper percentiles are."
)
PERCENTILES = (0, 5, 50, 95, 100)


@dataclass(frozen=True)
class Operation:
    """Which spans count as it."""

    span: str
    containing: str = ""
    """Only those that contain such a span."""


OPERATIONS = {
    "enqueue_hrtimer": Operation("enqueue"),
    "hrtimer_start_range_ns": Operation("start"),
    "hrtimer_try_to_cancel": Operation("cancel", "tree-del"),
    "queue: add": Operation("tree-add"),
    "queue: remove": Operation("tree-del"),
}


def operation(system: Measured, scenario: str, wanted: Operation) -> Samples:
    """Instructions of each execution of an operation."""
    table = system.table(scenario, "spans")
    samples = spans.select(table, table["span"] == wanted.span)
    if wanted.containing:
        inner = spans.select(table, table["span"] == wanted.containing)
        samples = spans.select(samples, spans.within(inner, samples))
    return np.asarray(samples["instructions"])


def _table(modes: compare.Modes, loads: tuple[tuple[str, str, str], ...]) -> Table:
    rows = []
    for scenario, title, _ in loads:
        for name, wanted in OPERATIONS.items():
            for mode, system in compare.having(modes, scenario):
                samples = operation(system, scenario, wanted)
                if not len(samples):
                    continue
                rows.append([title, name, mode,
                             *(f"{percentile(samples, p):.0f}" for p in PERCENTILES),
                             f"{len(samples):,}"])
                title, name = "", ""
    return Table(["load", "operation", "kernel", "min", "p5", "p50", "p95", "max", "samples"],
                 rows, "Instructions of one execution, everything called in it included.",
                 text_columns=3)


def _device(modes: compare.Modes, loads: tuple[tuple[str, str, str], ...]) -> Table:
    """How often the device is set."""
    rows = []
    for scenario, title, _ in loads:
        for mode, system in compare.having(modes, scenario, ("stock", "off", "shielded")):
            names = system.table(scenario, "spans")["span"]
            wakeups, interrupts, writes = (
                int((names == name).sum()) for name in ("wakeup", "interrupt", "device"))
            if wakeups:
                rows.append([title, mode, f"{wakeups:,}", f"{interrupts / wakeups:.3f}",
                             f"{writes / wakeups:.3f}"])
                title = ""
    return Table(["load", "kernel", "wake-ups", "interrupts a wake-up", "writes a wake-up"], rows,
                 "Wake-ups of sleepers, timer interrupts, and how often the clock event device was "
                 "set.", text_columns=2)


def _figure(
    platform: str, modes: compare.Modes, loads: tuple[tuple[str, str, str], ...]
) -> list[Figure]:
    def case(scenario: str, name: str) -> compare.Case:
        word = "no load" if scenario == "none" else "loaded"
        return (f"{name},\n{word}", scenario,
                lambda system: operation(system, scenario, OPERATIONS[name]))

    return compare.candlesticks(
        modes, ("stock", "shielded"),
        (case(scenario, name) for scenario, _, _ in loads[:2]
         for name in ("enqueue_hrtimer", "hrtimer_start_range_ns", "hrtimer_try_to_cancel")),
        "instructions (= ns of guest time)", f"overhead-{platform}",
        f"{platform}: minimum, 5th, 50th, 95th percentile, maximum; at least {{least}} samples a "
        "candlestick.")


def parts(store: Store, loads: tuple[tuple[str, str, str], ...],
          many: tuple[str, str, str]) -> list[Part]:
    """Candlesticks and tables of every platform, and of the queue on this machine."""
    result: list[Part] = [Text(WHAT), Text(compare.WHY_GUEST)]
    for platform, modes in compare.platforms(store).items():
        if platform != queue_bench.PLATFORM:
            result += [Text(platform, heading=True), *_figure(platform, modes, loads),
                       _table(modes, loads), _device(modes, (*loads, many))]
    return result + queue_bench.parts(store)
