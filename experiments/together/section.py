# SPDX-License-Identifier: GPL-2.0-or-later
"""The picture that opens the report: a job's start and end, layer by layer."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import ticker

from experiments.common import compare
from experiments.common.claims import Found
from experiments.measure.results import Measured, Store
from experiments.report import plots
from experiments.report.page import Figure, Part, Table, Text
from experiments.report.stats import Samples, percentile
from lab.errors import LabError

US = 1000.0
FIRST_PLATFORM = "x86_64-preempt"
PERCENTS = (50, 95, 99, 99.9, 100)

HOW = (
    "A SCHED_FIFO 99 job is released every millisecond, does 300 µs of work, and ends. Next to it, "
    "on the same CPU: one unprivileged process with 1,000 timerfds, one with 100 POSIX timers, 100 "
    "FIFO-70 sleepers that are released together with the job, and two unprivileged processes that "
    "take the rest of the CPU, most of it inside the kernel. The job first waits by "
    "clock_nanosleep on a stock kernel; then by ClockFix; then on a kernel with TimerShield. With "
    "a second CPU, which the loads may use like the first, the job's CPU is isolated at last: "
    "whatever is not bound to it has to leave."
)
READ = (
    "ClockFix alone starts the job on time where nothing interferes, and cannot help where timers "
    "of others interrupt it while it waits and works. TimerShield keeps them away: then the end is "
    "as exact as the start, and ClockFix makes the start exact. An isolated CPU keeps the loads "
    "themselves away, with all that the kernel does for them with interrupts disabled: it is for "
    "the last of the starts and ends, not for the typical one. All these loads may leave it, so "
    "there TimerShield adds nothing to it: the tables have an isolated CPU without it, too."
)
NOT_SHOWN = (
    "What the pictures do not show: time is counted in instructions, one a nanosecond. There are "
    "no caches, no idle states to come back from, no hypervisor: on a real machine "
    "clock_nanosleep is later (tens of µs are usual), each interruption costs more, and all layers "
    "save more."
)
TWO_CPUS = (
    "With one CPU this is exact to the nanosecond. Two virtual CPUs take turns, of a microsecond "
    "here: while one executes, time passes for the other, too, and a job takes twice as long when "
    "the other CPU is busy. So its end is not read from the clock there, but from what the kernel "
    "executed on the job's CPU while the job worked, counted by the emulator: start plus work plus "
    "that is when a CPU that has not to share its time would have ended. The start is read from "
    "the clock, and is up to two or three turns late for no other reason; the line of tasks that "
    "only compute, which never have the kernel delay anything, shows how much. The job's work is "
    "150 µs there, so that it ends before the scheduler's tick in spite of the turns."
)


@dataclass(frozen=True)
class Layer:
    """A line of the picture."""

    label: str
    mode: str
    scenario: str


LAYERS = (
    Layer("stock kernel,\nclock_nanosleep", "stock", "nanosleep"),
    Layer("+ ClockFix", "stock", "clockfix"),
    Layer("+ TimerShield", "shielded", "clockfix"),
    Layer("for comparison:\nClockFix, nothing else runs", "shielded", "idle-clockfix"),
)
PAIR_LAYERS = (
    *LAYERS[:3],
    Layer("+ isolated CPU", "shielded", "clockfix-isolated"),
    Layer("for comparison:\nall layers, others only compute", "shielded", "compute-isolated"),
)
ISOLATED = Layer("ClockFix, isolated CPU", "stock", "clockfix-isolated")
ROWS = (
    Layer("clock_nanosleep, nothing else runs", "stock", "idle-nanosleep"),
    Layer("ClockFix, nothing else runs", "stock", "idle-clockfix"),
    Layer("clock_nanosleep", "stock", "nanosleep"),
    Layer("ClockFix", "stock", "clockfix"),
    Layer("clock_nanosleep, isolated CPU", "stock", "nanosleep-isolated"),
    ISOLATED,
    Layer("clock_nanosleep, TimerShield", "shielded", "nanosleep"),
    Layer("ClockFix, TimerShield", "shielded", "clockfix"),
    Layer("clock_nanosleep, TimerShield, isolated CPU", "shielded", "nanosleep-isolated"),
    Layer("ClockFix, TimerShield, isolated CPU", "shielded", "clockfix-isolated"),
    Layer("ClockFix, TimerShield, isolated CPU, others only compute", "shielded",
          "compute-isolated"),
)


def _pair(modes: compare.Modes) -> bool:
    """Whether these systems have two CPUs."""
    return any(name.system.cpus > 1 for name in modes.values())


def _words(modes: compare.Modes) -> str:
    system = next(iter(modes.values())).system
    return f"{replace(system, cpus=1).place}{', two CPUs' if system.cpus > 1 else ''}"


def layers(modes: compare.Modes) -> tuple[Layer, ...]:
    """What is put on top of each other there; the last one is for comparison."""
    return PAIR_LAYERS if _pair(modes) else LAYERS


def _counted(system: Measured, scenario: str) -> Samples:
    """What the kernel executed on the job's CPU during each job, in ns."""
    table = system.table(scenario, "spans")
    found: Samples = table["instructions"][table["cpu"] == 0]
    jobs = len(system.table(scenario, "jobs")["due_ns"])
    if len(found) != jobs:
        raise LabError(f"{system.name}, {scenario}: {len(found)} of {jobs} jobs were counted")
    return found


def work(modes: compare.Modes) -> float:
    """What the job's work takes when nothing disturbs it, in ns.

    Where there are two CPUs it is only what the kernel executes in any case, between two marks.
    """
    least = []
    for system in modes.values():
        for scenario in system.scenarios:
            if system.system.cpus > 1:
                least.append(float(_counted(system, scenario).min()))
                continue
            jobs = system.table(scenario, "jobs")
            least.append(float((jobs["response_ns"] - jobs["latency_ns"]).min()))
    return min(least)


def lateness(modes: compare.Modes, layer: Layer) -> tuple[Samples, Samples] | None:
    """How late the jobs started, and how late they ended, in µs."""
    system = modes.get(layer.mode)
    if not system or not system.has(layer.scenario):
        return None
    jobs = system.table(layer.scenario, "jobs")
    start = jobs["latency_ns"]
    if system.system.cpus > 1:
        end = start + _counted(system, layer.scenario) - work(modes)
    else:
        end = jobs["response_ns"] - work(modes)
    return start / US, end / US


def _complete(store: Store) -> Iterator[tuple[str, compare.Modes]]:
    """Platforms of which all layers were measured, those with two CPUs first."""
    found = [(p, m) for p, m in compare.platforms(store).items()
             if all(lateness(m, layer) for layer in layers(m)[:-1])]
    yield from sorted(found, key=lambda item: (
        not _pair(item[1]), not item[0].startswith(FIRST_PLATFORM), item[0]))


def start(stock: Measured, shielded: Measured) -> Found | None:
    """The median with ClockFix and TimerShield, over that with neither; on one CPU."""
    modes = {"stock": stock, "shielded": shielded}
    first, ours = lateness(modes, LAYERS[0]), lateness(modes, LAYERS[2])
    if _pair(modes) or not first or not ours:
        return None
    a, b = percentile(ours[0], 50), percentile(first[0], 50)
    return Found(f"{a:.2f} instead of {b:.2f} µs ({a / b:.1%})", a / b)


def end(stock: Measured, shielded: Measured) -> Found | None:
    """The last job's, with all layers, in µs."""
    modes = {"stock": stock, "shielded": shielded}
    first, ours = (lateness(modes, layers(modes)[i]) for i in (0, -2))
    if not first or not ours:
        return None
    isolated = lateness(modes, ISOLATED)
    return Found(f"latest {ours[1].max():.2f} µs, without any {first[1].max():.1f} µs"
                 + (f", without TimerShield {isolated[1].max():.2f} µs" if isolated else ""),
                 float(ours[1].max()))


def _draw(axes: plt.Axes, samples: list[Samples], labels: list[str]) -> None:
    for y, values in enumerate(samples):
        low, p5, p50, p95, high = (percentile(values, p) for p in (0, 5, 50, 95, 100))
        axes.plot([low, high], [y, y], color="#000000", linewidth=1, zorder=1)
        axes.barh([y], [p95 - p5], 0.4, left=p5, color="#8db9d8", edgecolor="#000000",
                  linewidth=0.8, zorder=2)
        axes.plot([p50, p50], [y - 0.2, y + 0.2], color="#000000", linewidth=3, zorder=3)
        axes.plot([p50, p50], [y - 0.2, y + 0.2], color="#ffffff", linewidth=1.2, zorder=4)
        axes.annotate(f"{p50:.2f}", (p50, y - 0.24), fontsize=7, ha="center", va="bottom")
        axes.annotate(f"max {high:.1f}", (high, y + 0.22), fontsize=7, ha="right", va="top")
    axes.set_xscale("log")
    axes.margins(x=0.1)
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda v, _: f"{v:g}"))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.6)
    axes.grid(axis="y", visible=False)


def picture(platform: str, modes: compare.Modes, prefix: str) -> str:
    """Start and end of the job, layer under layer."""
    shown = [(layer, s) for layer in layers(modes)
             if (s := lateness(modes, layer)) is not None]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 0.5 + 0.65 * len(shown)),
                                         layout="constrained", sharey=True)
    labels = [layer.label for layer, _ in shown]
    for i, (axes, title) in enumerate(((left, "the job starts late by, µs"),
                                       (right, "the job ends late by, µs"))):
        _draw(axes, [np.maximum(s[i], 0.01) for _, s in shown], labels)
        axes.set_xlabel(title)
    return plots.to_svg(figure, prefix, platform)


def _table(modes: compare.Modes) -> Table:
    rows = []
    for layer in ROWS:
        samples = lateness(modes, layer)
        if samples is None:
            continue
        title = f"{layer.label}, {layer.mode} kernel"
        for what, values in zip(("start", "end"), samples, strict=True):
            rows.append([title, what, *(f"{percentile(values, p):.2f}" for p in PERCENTS),
                         f"{percentile(values, 99) - percentile(values, 1):.2f}",
                         f"{len(values):,}"])
            title = ""
    return Table(["job waits by", "late, µs", "p50", "p95", "p99", "p99.9", "max", "p99 − p1",
                  "jobs"], rows, "Lateness of the job's first instruction, and of its end: after "
                 "its release plus what its work takes undisturbed.", text_columns=2)


def parts(store: Store) -> list[Part]:
    """One picture, and a table for every platform."""
    result: list[Part] = [Text(HOW)]
    seen = set()
    for platform, modes in _complete(store):
        if (pair := _pair(modes)) in seen:
            continue
        seen.add(pair)
        count = len(modes["stock"].table("nanosleep", "jobs")["due_ns"])
        result.append(Figure(
            picture(platform, modes, f"together-{platform}"),
            f"{_words(modes)}: {count:,} jobs a line. Box: 5th to 95th "
            "percentile, bar: median, line: minimum to maximum; logarithmic axes; what is less "
            "than 10 ns is drawn at 10 ns."))
    result += [Text(READ), Text(TWO_CPUS), Text(NOT_SHOWN)]
    for modes in compare.platforms(store).values():
        result += [Text(_words(modes), heading=True), _table(modes)]
    return result
