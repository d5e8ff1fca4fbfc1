# SPDX-License-Identifier: GPL-2.0-or-later
"""The isolated-cpu experiment's part of the report, and what its samples come to."""

import re
from dataclasses import dataclass

from experiments.measure.results import Measured, Store
from experiments.report import plots
from experiments.report.page import Figure, Part, Table, Text
from experiments.report.stats import Samples, Summary, summarize

KINDS = {"task": "switches to foreign tasks", "irq": "interrupts", "softirq": "NET_RX softirqs"}
ENTRY = re.compile(r"^\{ \w+: +\d+(?:, \w+: (.*?))? *\} hitcount: +(\d+)", re.MULTILINE)
BOUND = re.compile(r"measured|hpet\d+|[\w]+/0(?:$|[:H].*)")
"""What may come to the isolated CPU: the measured task and device, and by their names the idle task
and the kernel's threads of that CPU.
"""
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
class Pair:
    """What one system's samples come to."""

    open: Summary
    isolated: Summary
    visits: tuple[tuple[str, int | None, int | None], ...]
    """Of what, how many on the isolated CPU, and on the same one that is not."""


def visits(system: Measured, scenario: str, kind: str) -> int | None:
    """How often a foreign ``kind`` came; ``None`` if the kernel cannot count them."""
    path = system.path / scenario / f"{kind}.hist"
    if not path.exists():
        return None
    text = path.read_text()
    lost = re.search(r"^ *Dropped: (\d+)", text, re.MULTILINE)
    return int(lost[1] if lost else 0) + sum(
        int(count) for name, count in ENTRY.findall(text) if not BOUND.fullmatch(name))


def responses(system: Measured, scenario: str) -> Samples:
    """All that were measured, ns."""
    samples: Samples = system.table(scenario, "samples")["response_ns"]
    return samples


def find(system: Measured, name: str) -> Pair | None:
    """A load's two scenarios, as the article's figure has them, if both were run."""
    isolated = f"{name}-isolated"
    if not (system.has(name) and system.has(isolated)):
        return None
    return Pair(
        summarize(responses(system, name)),
        summarize(responses(system, isolated)),
        tuple((word, visits(system, isolated, kind), visits(system, name, kind))
              for kind, word in KINDS.items()),
    )


def _figure(system: Measured) -> Figure:
    """Dashed: not isolated; a colour for each load."""
    loads = list(dict.fromkeys(s.removesuffix("-isolated") for s in system.scenarios))
    curves = [plots.Curve(
        system.titles[s], "shielded" if s.endswith("-isolated") else "stock",
        loads.index(s.removesuffix("-isolated")), responses(system, s) / 1000)
        for s in system.scenarios]
    place = system.system.place
    return Figure(
        plots.distribution(curves, "response time in µs", f"isolated-{system.name}", place,
                           {"the article, shielded: 220 µs": 220, "the article: 10 ms": 10_000}),
        f"{place}: from the interrupt's time to the task's return from read(), "
        f"{max(len(c.samples) for c in curves):,} interrupts a curve.")


def _table(system: Measured) -> Table:
    rows = []
    titles = system.titles
    for scenario in system.scenarios:
        samples = system.table(scenario, "samples")
        s = summarize(samples["response_ns"])
        realfeel = samples["interval_ns"].max() - system.summary(scenario)["period_ns"]
        rows.append([
            titles[scenario],
            *(f"{v / 1000:.1f}" for v in (s.p50, s.p95, s.p99, s.p999, s.p9999, s.maximum)),
            f"{realfeel / 1000:.1f}",
            *("–" if (n := visits(system, scenario, kind)) is None else f"{n:,}"
              for kind in KINDS),
            f"{s.count:,}",
        ])
    return Table(
        ["load", "p50", "p95", "p99", "p99.9", "p99.99", "max", "realfeel", "foreign tasks",
         "interrupts", "NET_RX", "samples"],
        rows,
        "Response times in µs; nearest-rank percentiles. Realfeel: the article's own measure, the "
        "longest time between two reads less the period. Foreign tasks: switches on CPU 0 to any "
        "task but the measured one, the idle task and kernel threads bound to that CPU; "
        "interrupts: of other devices, on CPU 0; NET_RX: softirqs there that process packets; "
        "counted by the kernel, where it has histograms of trace events.",
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
