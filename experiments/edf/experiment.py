# SPDX-License-Identifier: GPL-2.0-or-later
"""Deadline tasks that mask each other's sleeps: the paper's future work, EDF."""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from experiments.common import running
from experiments.common.experiment import Context, Experiment, Scenario, run_all
from experiments.edf import analysis
from experiments.report.claims import Claim
from experiments.report.page import Part, Table, Text
from experiments.report.stats import summarize
from lab.errors import LabError
from lab.kernels.kernels import WITH_DEADLINES, Kernel, deadline_patches
from lab.measure.results import Measured, Store
from lab.measure.spans import Span
from lab.measure.systems import Mode, Platform, System

TASKS = (1, 10, 100)
LENGTH_NS = 2_000_000_000
TURN = 1
"""us that a virtual CPU executes at most before the other has its turn."""
LOADS = {1: ("--percent=50",), 2: ("--percent=20", "--runtime=350", "--gap=1150")}
"""By CPUs. Of two, each executes half of the time: a job uses up its runtime twice as fast; and a
turn of the other is no interruption."""
SPANS = (
    Span("interrupt", "hrtimer_interrupt"),
    Span("switch", "__schedule", until="finish_task_switch"),
    Span("sleep", "__(x64|arm64)_sys_clock_nanosleep", until="__schedule"),
)
TWO = "two-100"
TITLES = {**{f"tasks-{n}": f"{n} task{'s' if n > 1 else ''}" for n in TASKS},
          TWO: "two CPUs, 100 tasks"}


@dataclass(frozen=True)
class ByDeadline(System):
    """A lab kernel that masks by deadline, too; its platform's flavour says so to the reader."""

    @property
    def kernel(self) -> Kernel:
        assert self.platform is not None
        flavour = self.platform.flavour.removesuffix(f"-{WITH_DEADLINES}")
        return replace(super().kernel, flavour=flavour, feature=WITH_DEADLINES)

    @classmethod
    def of(cls, platform: Platform, cpus: int) -> "ByDeadline":
        """That of a platform."""
        return cls(replace(platform, flavour=f"{platform.flavour}-{WITH_DEADLINES}"),
                   Mode.SHIELDED, cpus)


def scenarios(context: Context, cpus: int) -> list[Scenario]:
    """What is run on so many CPUs."""
    length = context.samples(LENGTH_NS)
    return [Scenario(name, title, (f"--tasks={name.rpartition('-')[2]}", f"--length={length}",
                                   *LOADS[cpus]))
            for name, title in TITLES.items() if (name == TWO) == (cpus > 1)
            and context.wants(name)]


class Edf(Experiment):
    """See the module."""

    name = "edf"
    title = "Deadline tasks that mask each other's sleeps (EDF)"
    guests_only = "it takes a kernel of its own"
    on_request = True

    def scenarios(self) -> dict[str, str]:
        return TITLES

    def run(self, context: Context) -> None:
        platforms = [p for p in context.platforms
                     if not p.debian and deadline_patches(p.linux)]
        if not platforms:
            raise LabError("none of these kernels can mask by deadline: --kernels x86_64-preempt")
        run_all([functools.partial(self._run, context, platforms, cpus) for cpus in (1, 2)])

    def _run(self, context: Context, platforms: list[Platform], cpus: int) -> None:
        systems = [s for s in context.systems(cpus=cpus, off=False) if s.platform in platforms]
        systems += [ByDeadline.of(p, cpus) for p in platforms if Mode.SHIELDED in context.modes]
        running.run_guest(context, self.name, systems, "edf", scenarios(context, cpus),
                          SPANS if cpus == 1 else (), turn=TURN if cpus > 1 else 0)

    def claims(self, store: Store) -> list[Claim]:
        found = []
        for place, edf, shielded in pairs(store):
            both = [s for s in edf.scenarios if shielded.has(s)]
            counts = {s: (analysis.interruptions(edf, s).later,
                          analysis.interruptions(shielded, s).later) for s in both}
            missed = {s: (analysis.misses(edf, s), analysis.misses(shielded, s)) for s in both}
            costs = {s: (analysis.cost(edf, s), analysis.cost(shielded, s)) for s in both
                     if s != TWO}
            if not both:
                continue
            found += [
                Claim("No job is interrupted to wake a task with a later deadline", place,
                      _words(counts), not any(e for e, _ in counts.values())
                      if any(s for _, s in counts.values()) else None),
                Claim("No more jobs miss their deadlines", place, _words(missed),
                      all(e <= s for e, s in missed.values())),
            ]
            if costs:
                found.append(Claim("What the kernel executes a job", place, _words(costs)))
        return found

    def parts(self, store: Store) -> list[Part]:
        rows = [[TITLES[s], m.name, *_cells(m, s)]
                for s in TITLES for m in store if m.has(s)]
        return [
            Text("All tasks are of SCHED_DEADLINE; their periods of 10 to 40 ms are also their "
                 "deadlines. A gap in a job that no other job filled is an interruption: by the "
                 "release of a task with a later deadline, or with one that is later or not, "
                 "depending on when the job was woken; by the tick; by timers of the scheduler."),
            Table(["tasks", "kernel", "jobs", "later", "unclear", "earlier", "ticks", "others",
                   "lost µs", "misses", "mean lateness µs", "response/deadline p50",
                   "p99", "max", "instructions/job"],
                  rows, "Interruptions of all jobs.", text_columns=2)]


def pairs(store: Store) -> Iterator[tuple[str, Measured, Measured]]:
    """Where it was measured with the mask by deadline, and with the shield alone."""
    for name in store.systems():
        other = name.replace(f"-{WITH_DEADLINES}-", "-")
        if other != name and other in store.systems():
            yield store[other].system.place, store[name], store[other]


def _words(found: Mapping[str, tuple[float, float]]) -> str:
    return ", ".join(f"{s} {ours:,.0f} (shield alone {theirs:,.0f})"
                     for s, (ours, theirs) in found.items())


def _cells(system: Measured, scenario: str) -> list[str]:
    found, jobs = analysis.interruptions(system, scenario), system.table(scenario, "jobs")
    s = summarize(analysis.responses(system, scenario))
    counts = (found.later, found.unclear, found.earlier, found.ticks, found.others)
    return [f"{s.count:,}", *(f"{n:,}" for n in counts), f"{found.lost_ns / 1000:,.0f}",
            f"{analysis.misses(system, scenario):,}",
            f"{float(np.mean(jobs['start_ns'] - jobs['due_ns'])) / 1000:.2f}",
            *(f"{v:.3f}" for v in (s.p50, s.p99, s.maximum)),
            f"{analysis.cost(system, scenario):,.0f}" if scenario != TWO else ""]


EXPERIMENT = Edf()
