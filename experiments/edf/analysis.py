# SPDX-License-Identifier: GPL-2.0-or-later
"""What interrupted the jobs of deadline tasks, and which came too late."""

from dataclasses import dataclass

import numpy as np

from experiments.report.stats import Samples
from lab.measure.results import Measured

TICK_NS = 4_000_000
"""The lab's kernels have HZ=250; ticks come at multiples of that."""
CAUSE_NS = 150
"""What causes a gap is due so much before at most: the interrupt is taken, and seen, later."""
WAKE_NS = 1500
"""An interrupt that wakes a task takes longer, one for a timer of the scheduler less."""


@dataclass(frozen=True)
class Interruptions:
    """Gaps in jobs that no other job filled, by what is due in them."""

    later: int
    """The release of a task whose deadline is certainly later than that of the running job."""
    unclear: int
    """One whose deadline is later or not, depending on when the running job was woken."""
    earlier: int
    ticks: int
    others: int
    """Timers of the scheduler: replenishment, the end of a task's claim to its bandwidth."""
    lost_ns: int
    """The time of those that are ``later``."""


def interruptions(system: Measured, scenario: str) -> Interruptions:
    """Sort the gaps of a scenario.

    A job has its deadline a period after it was woken: after its release, before its first
    instruction.
    """
    jobs, gaps, tasks = (system.table(scenario, n) for n in ("jobs", "gaps", "tasks"))
    zero = int(system.summary(scenario)["zero_ns"])
    periods = np.asarray(tasks["period_ns"])
    first = np.searchsorted(jobs["task"], np.arange(len(periods)))
    order = np.argsort(jobs["due_ns"], kind="stable")
    due, owner = np.asarray(jobs["due_ns"])[order], np.asarray(jobs["task"])[order]
    count = dict.fromkeys(("later", "unclear", "earlier", "ticks", "others"), 0)
    lost = 0
    for task, job, begin, length, preempted in zip(
            *(gaps[n] for n in ("task", "job", "begin_ns", "length_ns", "preempted")),
            strict=True):
        if preempted:
            continue
        row, end = first[task] + job, begin + length
        if (zero + begin - CAUSE_NS) // TICK_NS != (zero + end) // TICK_NS:
            count["ticks"] += 1
            continue
        now = slice(*np.searchsorted(due, (begin - CAUSE_NS, begin + 1)))
        deadlines = (due[now] + periods[owner[now]])[owner[now] != task]
        if not len(deadlines) or length < WAKE_NS:
            count["others"] += 1
        elif deadlines.max() > jobs["start_ns"][row] + periods[task]:
            count["later"] += 1
            lost += int(length)
        elif deadlines.max() > jobs["due_ns"][row] + periods[task]:
            count["unclear"] += 1
        else:
            count["earlier"] += 1
    return Interruptions(**count, lost_ns=lost)


def responses(system: Measured, scenario: str) -> Samples:
    """From each release to the job's last instruction, as a share of its deadline."""
    jobs, tasks = system.table(scenario, "jobs"), system.table(scenario, "tasks")
    deadlines = np.asarray(tasks["period_ns"])[jobs["task"]]
    return np.asarray((jobs["end_ns"] - jobs["due_ns"]) / deadlines)


def misses(system: Measured, scenario: str) -> int:
    """Jobs that were not done by their deadlines."""
    return int((responses(system, scenario) > 1).sum())


def cost(system: Measured, scenario: str) -> float:
    """Instructions that the kernel executes a job: going to sleep, switches, timer interrupts."""
    jobs, spans = (system.table(scenario, n) for n in ("jobs", "spans"))
    return float(np.asarray(spans["instructions"]).sum()) / len(jobs["task"])
