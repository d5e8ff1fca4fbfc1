# SPDX-License-Identifier: GPL-2.0-or-later
"""The isolated-cpu experiment's part of the report, and what its samples come to."""

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import ticker

from experiments.report import plots
from experiments.report.page import Figure, Part, Table, Text
from experiments.report.stats import Samples, Summary, summarize
from lab.measure.results import Measured, Store

FIGURE_1 = "Fig 1: 10 ms against 220 µs, 45 times"
STYLES = {
    "none": ("#999999", ":"),
    "spin": ("#0072b2", "--"),
    "kernel": ("#d55e00", "-"),
    "kernel-isolated": ("#009e73", "-"),
    "device": ("#d55e00", "--"),
    "device-isolated": ("#009e73", "--"),
    "softirqs": ("#cc79a7", "-"),
    "softirqs-isolated": ("#009e73", ":"),
    "kernel-full": ("#56b4e9", "-"),
    "kernel-voluntary": ("#e69f00", "--"),
    "kernel-none": ("#d55e00", "-"),
}
KINDS = {"task": "switches to foreign tasks", "irq": "interrupts", "softirq": "NET_RX softirqs"}
NOT_SHOWN = (
    "Two virtual CPUs under instruction-counted time take turns, and while one executes, time "
    "passes for the other, too. A turn lasts 5 µs at most, so that a response takes two or three "
    "times as long as on a CPU of its own; what comes of it is seen in the "
    "scenario whose tasks only compute, for which the kernel never delays an interrupt by "
    "itself. What goes beyond that is the kernel's: sections with interrupts or preemption "
    "disabled, soft interrupts, contended locks. The figure shows how these depend on where the "
    "load runs. It does not show a machine's microseconds: caches, memory bandwidth and what "
    "an interrupt costs in hardware are not modelled."
)


@dataclass(frozen=True)
class Found:
    """What one system's samples come to."""

    open: Summary
    isolated: Summary
    lost: int
    visits: tuple[tuple[str, int, int], ...]
    """Of what, how many on the isolated CPU, and on the same one that is not."""


def _visits(system: Measured, scenario: str, kind: str) -> int:
    """How often a foreign ``kind`` came after the first millisecond."""
    table = system.table(scenario, "visitors")
    chosen = (table["kind"] == kind) & (table["bound"] == 0)
    return int(table["later"][chosen].sum())


def responses(system: Measured, scenario: str) -> Samples:
    """All that were measured, ns."""
    samples: Samples = system.table(scenario, "samples")["response_ns"]
    return samples


def find(system: Measured, name: str) -> Found | None:
    """A load's two scenarios, as the article's figure has them, if both were run."""
    isolated = f"{name}-isolated"
    if not (system.has(name) and system.has(isolated)):
        return None
    return Found(
        summarize(responses(system, name)),
        summarize(responses(system, isolated)),
        _visits(system, isolated, "lost"),
        tuple((word, _visits(system, isolated, kind), _visits(system, name, kind))
              for kind, word in KINDS.items()),
    )


def _figure(system: Measured) -> Figure:
    """Share of responses that took as long or longer, both axes logarithmic."""
    figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
    titles = system.titles
    count = 0
    for scenario in system.scenarios:
        values = np.sort(system.table(scenario, "samples")["response_ns"] / 1000)
        count = max(count, len(values))
        share = 1 - np.arange(len(values)) / len(values)
        colour, line = STYLES[scenario]
        axes.step(values, share, where="pre", color=colour, linestyle=line, linewidth=1.4,
                  label=titles[scenario])
        axes.plot(values[-1:], share[-1:], marker="o", markersize=4, color=colour)
    for words, x in (("the article, shielded: 220 µs", 220), ("the article: 10 ms", 10_000)):
        axes.axvline(x, color="#cc79a7", linewidth=1)
        axes.annotate(words, (x, 1), rotation=90, fontsize=6.5, ha="right", va="top")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())
    axes.set_xlabel("response time in µs")
    axes.set_ylabel("share that took as long or longer")
    axes.grid(which="major", alpha=0.4)
    axes.legend(loc="center right", fontsize=8)
    return Figure(plots.to_svg(figure, f"isolated-{system.name}",
                               system.system.place),
                  f"{system.system.place}: from the interrupt's time to the task's "
                  f"return from read(), {count:,} interrupts a curve; the dot is the worst.")


def _realfeel(system: Measured, scenario: str) -> float:
    """The longest interval between two reads, less the period, ns."""
    return (float(system.table(scenario, "samples")["interval_ns"].max())
            - system.summary(scenario)["period_ns"])


def _table(system: Measured) -> Table:
    rows = []
    titles = system.titles
    for scenario in system.scenarios:
        s = summarize(system.table(scenario, "samples")["response_ns"])
        rows.append([
            titles[scenario],
            *(f"{v / 1000:.1f}" for v in (s.p50, s.p95, s.p99, s.p999, s.p9999, s.maximum)),
            f"{_realfeel(system, scenario) / 1000:.1f}",
            *(f"{_visits(system, scenario, kind):,}" for kind in KINDS),
            f"{s.count:,}",
        ])
    return Table(
        ["load", "p50", "p95", "p99", "p99.9", "p99.99", "max", "realfeel", "foreign tasks",
         "interrupts", "NET_RX", "samples"],
        rows,
        "Response times in µs; nearest-rank percentiles. Realfeel: the article's own measure, the "
        "longest time between two reads less the period. Foreign tasks: switches on CPU 0 to any "
        "task but the measured one, the idle task and kernel threads bound to that CPU; "
        "interrupts: of devices, on CPU 0; NET_RX: softirqs there that process packets; all "
        "counted from tracepoints.",
    )


def parts(store: Store) -> list[Part]:
    """Table and figure for every system that has results."""
    result: list[Part] = [Text(
        "A SCHED_FIFO 90 task on CPU 0 of two reads the real-time clock's periodic interrupt, "
        "2,048 a second. Next to it run loopback TCP, FIFOs and mapped files, floating point, "
        "file system churn and processes that fault, on all CPUs or, with CPU 0 isolated, on the "
        "other one. The article's Figure 1 has 10 ms against 220 µs, on a Linux 2.4 with "
        "preemption and low-latency patches.")]
    for system in store:
        meta = system.meta
        result += [
            Text(system.system.place, heading=True),
            Text(f"{meta['kernel']}; time: {meta['time']}."), Text(NOT_SHOWN),
            _table(system), _figure(system)]
    return result
