# SPDX-License-Identifier: GPL-2.0-or-later
"""The context-switch experiment's samples, and its part of the report."""

from collections.abc import Sequence

import numpy as np

from lab import plots, results, spans
from lab.experiments import compare
from lab.experiments.base import Goal
from lab.report_page import Figure, Section, Table, Text, Verdict
from lab.results import Store
from lab.stats import Samples, percentile

SAME_LEVEL = 50
"""Instructions that comparing levels may take. Reading the clock takes more, so that on a real
machine nothing could be measured; here one instruction is a difference."""
PERCENTILES = (0, 5, 50, 95, 100)
WHAT = (
    "The paper timed the code that TimerShield adds to a context switch, without load and with 50 "
    "low-priority tasks; its tracepoints could not tell the overhead from the processing of "
    "deferred timers. Here a plugin of the emulator counts every instruction from the entry of "
    "__schedule() to finish_task_switch() of the next task, on stock and shielded kernels; the "
    "difference is what the shield adds. Ping-pong isolates switches within one "
    "level and between levels (with and without 50 pending timers of other tasks); the 1 kHz job "
    "alone and beside 50 tasks is the paper's set-up. Deferred timers that are served in the "
    "switch are shown apart: timershield_release_slow() is the serving, timershield_switch_slow() "
    "looking for the next event and programming the device for it."
)


def _of(store: Store, system: str, scenario: str, span: str) -> results.Table:
    table = store.table(system, scenario, "spans")
    return spans.select(table, table["span"] == span)


def switches(store: Store, system: str, scenario: str) -> Samples:
    """Instructions of each context switch, without serving deferred timers."""
    whole = _of(store, system, scenario, "switch")
    served = _of(store, system, scenario, "release")
    samples = np.array(whole["instructions"])
    position = np.searchsorted(whole["begin"], served["begin"], side="right") - 1
    for i, instructions in zip(position, served["instructions"], strict=True):
        if i >= 0:
            samples[i] -= instructions
    return samples


def differences(store: Store, stock: str, shielded: str, scenario: str) -> tuple[float, float]:
    """Median and mean of a shielded switch less those of a stock one, instructions."""
    a, b = (switches(store, s, scenario) for s in (shielded, stock))
    return percentile(a, 50) - percentile(b, 50), float(a.mean() - b.mean())


def added(store: Store, stock: str, shielded: str, scenario: str) -> float:
    """What the shield adds to a switch, instructions.

    Of two kinds of switches that take turns, the median may be of either: a difference of
    medians then says little. So it is that of the means, if that is larger.
    """
    return max(differences(store, stock, shielded, scenario))


def slow_calls(store: Store, system: str, scenario: str) -> int:
    """How often a switch touched the queue."""
    return sum(len(_of(store, system, scenario, s)["span"]) for s in ("release", "threshold"))


def throughput(store: Store, stock: str, shielded: str, scenario: str) -> float:
    """Rounds or messages per time, shielded over stock."""
    a, b = (store.summary(s, scenario) for s in (shielded, stock))
    return (a["rounds"] * a["done_each"] / a["elapsed_ns"]) / (
        b["rounds"] * b["done_each"] / b["elapsed_ns"])


def _cells(samples: Samples) -> list[str]:
    return [*(f"{percentile(samples, p):.0f}" for p in PERCENTILES), f"{len(samples):,}"]


def _table(store: Store, modes: dict[str, str]) -> Table:
    rows = []
    any_system = next(iter(modes.values()))
    for scenario in store.scenarios(any_system):
        title = store.meta(any_system)["titles"][scenario]
        for mode in ("stock", "shielded"):
            system = modes.get(mode, "")
            if not system or not store.has(system, scenario):
                continue
            more = ["", ""]
            if mode == "shielded" and "stock" in modes:
                more = [f"{d:+.0f}"
                        for d in differences(store, modes["stock"], system, scenario)]
            rows.append([title, f"switch, {mode}", *_cells(switches(store, system, scenario)),
                         *more])
            title = ""
        for span, word in (("threshold", "next event found"), ("release", "deferred served")):
            system = modes.get("shielded", "")
            if not system or not store.has(system, scenario):
                continue
            samples = _of(store, system, scenario, span)["instructions"]
            if len(samples):
                rows.append(["", f"  {word}", *_cells(samples), "", ""])
    return Table(["load", "what", "min", "p5", "p50", "p95", "max", "samples",
                  "p50 − stock's", "mean − stock's"], rows,
                 "Instructions (ns of guest time). A switch is without the serving of deferred "
                 "timers, which has a row of its own; finding the next event is part of it.",
                 text_columns=2)


def _throughput(store: Store, modes: dict[str, str]) -> list[Table]:
    if not {"stock", "shielded"} <= modes.keys():
        return []
    rows = []
    for scenario in store.scenarios(modes["shielded"]):
        if scenario.startswith("job-") or not compare.both(store, scenario, *modes.values()):
            continue
        a, b = (store.summary(modes[m], scenario) for m in ("stock", "shielded"))
        rows.append([
            store.meta(modes["shielded"])["titles"][scenario],
            *(f"{1e6 * s['rounds'] * s['done_each'] / s['elapsed_ns']:,.1f}" for s in (a, b)),
            f"{throughput(store, modes['stock'], modes['shielded'], scenario):.4f}",
            f"{int(a['rounds'] * a['done_each']):,}"])
    return [Table(["load", "stock", "shielded", "shielded / stock", "count"], rows,
                  "Rounds of ping-pong (two switches each), or messages, per ms.")]


def _figure(store: Store, platform: str, modes: dict[str, str]) -> list[Figure]:
    groups: dict[str, list[plots.Candle]] = {}
    for scenario, word in (("fair", "ordinary\ntasks"), ("fifo", "FIFO 80\nboth"),
                           ("fifo-fifo", "FIFO 80\nand 70"), ("fifo-fair", "FIFO 80,\nordinary"),
                           ("job-none", "1 kHz job,\nno load"),
                           ("job-sleepers-50", "1 kHz job,\n50 tasks")):
        sticks = [plots.Candle(mode, switches(store, system, scenario))
                  for mode in ("stock", "shielded")
                  if (system := modes.get(mode, "")) and store.has(system, scenario)]
        if sticks:
            groups[word] = sticks
    if not groups:
        return []
    least = min(len(c.samples) for sticks in groups.values() for c in sticks)
    return [Figure(
        plots.candles(groups, "instructions (= ns of guest time)", f"switch-{platform}"),
        f"{platform}: from __schedule() to the next task, deferred timers' serving left out; "
        f"minimum, 5th, 50th, 95th percentile, maximum; at least {least:,} switches each.")]


def section(title: str, anchor: str, store: Store, goals: Sequence[Goal]) -> Section:
    """Candlesticks, table and throughput of every platform."""
    result = Section(title, anchor)
    result.verdicts = [Verdict(g.claim, g.found, g.met) for g in goals]
    result.parts += [Text(WHAT), Text(compare.WHY_GUEST)]
    for platform, modes in compare.platforms(store).items():
        result.parts.append(Text(platform, heading=True))
        result.parts += _figure(store, platform, modes)
        result.parts.append(_table(store, modes))
        result.parts += _throughput(store, modes)
    return result
