# SPDX-License-Identifier: GPL-2.0-or-later
"""Random task sets on stock and shielded: no task gets later than the kernel's own doing."""

from dataclasses import dataclass

import numpy as np

from experiments import base, compare
from experiments.base import Context, Scenario
from lab.errors import LabError
from lab.measure.results import Measured, Store
from lab.measure.systems import System
from lab.report.claims import Goal
from lab.report.page import Part, Table, Text

PROGRAM = "tests/task_sets"
SIZES = (100, 1000)
SEED = 1
SHOWN = 10


@dataclass(frozen=True)
class Growth:
    """How the worst of every task changed from stock to shielded, ns."""

    allowed: int
    """The longest that any highest-ranking task had to wait on stock: for the longest
    section that is not preemptible, and the switch to it."""
    sets: int
    tasks: int
    worst: int
    """The largest growth of what higher-ranking tasks do not explain."""
    beyond: tuple[tuple[int, int, int, str, int, int], ...]
    """Set, task, level, call, stock's and shielded's worst, of tasks that grew by more."""


def growth(scenario: str, stock: Measured, shielded: Measured) -> Growth:
    """Compare the two systems task by task."""
    before = stock.table(scenario, "tasks")
    after = shielded.table(scenario, "tasks")
    for column in ("set", "task", "level", "api"):
        if not np.array_equal(before[column], after[column]):
            raise LabError(f"{stock.name} and {shielded.name} ran different task sets")
    allowed = int(before["lateness_ns"][before["task"] == 0].max())
    grown = after["unexplained_ns"] - before["unexplained_ns"]
    order = [int(i) for i in np.argsort(-grown, kind="stable") if grown[i] > allowed]
    return Growth(
        allowed, len(np.unique(before["set"])), len(grown), int(grown.max()),
        tuple((int(before["set"][i]), int(before["task"][i]), int(before["level"][i]),
               str(before["api"][i]), int(before["unexplained_ns"][i]),
               int(after["unexplained_ns"][i])) for i in order))


def _title(sets: int) -> str:
    return f"{sets:,} random task sets"


class TaskSets(base.Experiment):
    """See the module."""

    name = "task-sets"
    title = "Random task sets"
    guests_only = "it compares two of the lab's kernels under the same instruction-counted time"

    def scenarios(self) -> dict[str, str]:
        return {f"sets-{n}": _title(n) for n in SIZES}

    def run(self, context: Context) -> None:
        scenarios = [
            Scenario(f"sets-{n}", _title(n), (f"--sets={n}", f"--seed={SEED}"), 60 + n)
            for n in SIZES if context.wants(f"sets-{n}", usually=n == SIZES[0])
        ]
        calls = []
        for platform in context.platforms:
            hard = ("--hard",) if platform.flavour == "rt" else ()
            wanted = [Scenario(s.name, s.title, s.words + hard, s.timeout) for s in scenarios]
            systems = [System(platform, m) for m in platform.modes(context.modes) if m != "off"]
            calls.append(lambda s=systems, w=wanted: base.run_guest(
                context, self.name, s, PROGRAM, w))
        base.run_all(calls)

    def _grown(self, store: Store) -> list[tuple[str, str, Growth]]:
        return [
            (platform, f"sets-{n}", growth(f"sets-{n}", stock, shielded))
            for platform, stock, shielded in compare.pairs(store)
            for n in SIZES if compare.both(f"sets-{n}", stock, shielded)
        ]

    def goals(self, store: Store) -> list[Goal]:
        return [
            Goal(f"{platform}: in {g.sets:,} random task sets no task gets later by more than the "
                 f"longest non-preemptible section, {g.allowed:,} ns",
                 f"largest growth {g.worst:+,} ns; {len(g.beyond)} of {g.tasks:,} tasks grew by "
                 "more", not g.beyond)
            for platform, _, g in self._grown(store)
        ]

    def parts(self, store: Store) -> list[Part]:
        result: list[Part] = [Text(
            "Each set has 3 to 8 tasks of random policies and priorities, which wait periodically "
            "with random system calls and then work, while the priorities of some are changed; the "
            "same on both kernels. Of each wait counts the time from its expiry to the task's next "
            "instruction, without the time in which the CPU ran tasks that rank at least as high: "
            "which of those comes first is chance. What is left is the kernel's doing. The first "
            "task of each set is SCHED_FIFO 99; the longest that one of these waited on stock is "
            "what another kernel may add to a task's worst.")]
        for platform, scenario, found in self._grown(store):
            result.append(Text(f"{platform}, {scenario}", heading=True))
            result.append(Table(
                ["sets", "tasks", "allowed growth (ns)", "largest growth (ns)",
                 "tasks that grew by more"],
                [[f"{found.sets:,}", f"{found.tasks:,}", f"{found.allowed:,}",
                  f"{found.worst:+,}", f"{len(found.beyond)}"]], text_columns=0))
            if found.beyond:
                result.append(Table(
                    ["set", "task", "level", "call", "stock's worst (ns)", "shielded (ns)"],
                    [[str(c) for c in row] for row in found.beyond[:SHOWN]],
                    "The tasks that grew most."))
        return result


EXPERIMENT = TaskSets()
