# SPDX-License-Identifier: GPL-2.0-or-later
"""The context-switch experiment's samples, and its part of the report."""

from collections.abc import Sequence

import numpy as np

from lab import results, spans
from lab.experiments import compare
from lab.experiments.base import Goal
from lab.report_page import Figure, Section, Table, Text, Verdict
from lab.results import Store
from lab.stats import Samples, middle_mean, percentile

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
    """Instructions of each context switch.

    Beside the 1 kHz job timers are deferred, and serving them is left out. In ping-pong none
    are, so that looking for them is part of the cost.
    """
    whole = _of(store, system, scenario, "switch")
    samples = np.array(whole["instructions"])
    if not scenario.startswith("job-"):
        return samples
    served = _of(store, system, scenario, "release")
    position = np.searchsorted(whole["begin"], served["begin"], side="right") - 1
    for i, instructions in zip(position, served["instructions"], strict=True):
        if i >= 0:
            samples[i] -= instructions
    return samples


def added(store: Store, stock: str, shielded: str, scenario: str) -> float:
    """What the shield adds to a typical switch, instructions.

    It is the difference of the means without the outer twentieths. Where switches of two or more
    kinds take turns, a median may be of either kind, and the difference of two of them says
    little; where all are of one kind, this is the difference of the medians.
    """
    a, b = (middle_mean(switches(store, s, scenario)) for s in (shielded, stock))
    return a - b


def error(store: Store, stock: str, shielded: str, scenario: str) -> float:
    """The standard error of :func:`throughput`, as a share of it."""
    shares = []
    for system in (stock, shielded):
        rounds = store.table(system, scenario, "rounds")["round_ns"]
        shares.append(rounds.std() / len(rounds) ** 0.5 / rounds.mean())
    return float(np.hypot(*shares))


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
    titles: dict[str, str] = {}
    for system in modes.values():
        titles.update(store.meta(system)["titles"])
    for scenario, title in titles.items():
        for mode in ("stock", "shielded"):
            system = modes.get(mode, "")
            if not system or not store.has(system, scenario):
                continue
            samples = switches(store, system, scenario)
            more = ["", ""]
            stock = modes.get("stock", "")
            if mode == "shielded" and stock and store.has(stock, scenario):
                before = switches(store, stock, scenario)
                more = [f"{percentile(samples, 50) - percentile(before, 50):+.0f}",
                        f"{added(store, stock, system, scenario):+.0f}"]
            rows.append([title, f"switch, {mode}", *_cells(samples), *more])
            title = ""
        for span, word in (("threshold", "next event found"), ("release", "deferred timers")):
            system = modes.get("shielded", "")
            if not system or not store.has(system, scenario):
                continue
            samples = _of(store, system, scenario, span)["instructions"]
            if len(samples):
                rows.append(["", f"  {word}", *_cells(samples), "", ""])
    return Table(["load", "what", "min", "p5", "p50", "p95", "max", "samples",
                  "p50 − stock's", "typical − stock's"], rows,
                 "Instructions (ns of guest time). Typical: the mean without the outer twentieths; "
                 "where switches of several kinds take turns, the median may be of either. Beside "
                 "the job a switch is without looking for and serving deferred timers, which has a "
                 "row of its own; in ping-pong, where no timer expires, with it.",
                 text_columns=2)


def _throughput(store: Store, modes: dict[str, str]) -> list[Table]:
    if not {"stock", "shielded"} <= modes.keys():
        return []
    rows = []
    for scenario in store.scenarios(modes["shielded"]):
        if scenario.startswith("job-") or not compare.both(store, scenario, modes["stock"]):
            continue
        a, b = (store.summary(modes[m], scenario) for m in ("stock", "shielded"))
        rows.append([
            store.meta(modes["shielded"])["titles"][scenario],
            *(f"{1e6 * s['rounds'] * s['done_each'] / s['elapsed_ns']:,.1f}" for s in (a, b)),
            f"{throughput(store, modes['stock'], modes['shielded'], scenario):.4f}",
            f"{error(store, modes['stock'], modes['shielded'], scenario):.4f}",
            f"{int(a['rounds'] * a['done_each']):,}"])
    return [Table(["load", "stock", "shielded", "shielded / stock", "± (standard error)", "count"],
                  rows, "Rounds of ping-pong (two switches each), or messages, per ms. Ordinary "
                  "tasks that send messages are preempted at other places as soon as one "
                  "instruction differs: their throughput scatters, and is not judged where its "
                  "standard error is above a quarter of a percent.")]


def _figure(store: Store, platform: str, modes: dict[str, str]) -> list[Figure]:
    def case(scenario: str, word: str) -> compare.Case:
        return word, scenario, lambda system: switches(store, system, scenario)

    return compare.candlesticks(
        store, modes, ("stock", "shielded"), (
            case("fair", "ordinary\ntasks"), case("fifo", "FIFO 80\nboth"),
            case("fifo-fifo", "FIFO 80\nand 70"), case("fifo-fair", "FIFO 80,\nordinary"),
            case("job-none", "1 kHz job,\nno load"),
            case("job-sleepers-50", "1 kHz job,\n50 tasks"),
        ),
        "instructions (= ns of guest time)", f"switch-{platform}",
        f"{platform}: from __schedule() to the next task, deferred timers' serving left out; "
        "minimum, 5th, 50th, 95th percentile, maximum; at least {least} switches each.")


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
