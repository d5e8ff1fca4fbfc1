# SPDX-License-Identifier: GPL-2.0-or-later
"""Results that look like those of the response loop, for tests."""

from experiments.common.fabricated import JOBS, Files, csv, summary


def response(scenario: str) -> Files:
    """What the program leaves; products where it multiplies matrices."""
    tasks = [] if scenario.endswith("none") else [0, 1]
    return {
        "jobs.csv": csv("due_ns,latency_ns,response_ns,interruptions,stolen_ns,products", (
            (i * 1_000_000, 2_000 + i, 298_000 + 13 * i, i % 3, 150 * (i % 3),
             2_000 - i if scenario.startswith(("endless", "matrix", "most")) else 0)
            for i in range(JOBS))),
        "tasks.csv": csv("task,kind,policy,priority,period_ns,phase_ns,expected,served,early", (
            (t, "sleepers", 1, 70, 1_000_000, 0, 5, 5, 0) for t in tasks)),
        "releases.csv": csv("task,due_ns,lateness_ns,response_ns", (
            (t, i * 1_000_000, 2_000, 2_500 + i) for t in tasks for i in range(5))),
        "summary.csv": summary(jobs=JOBS, window_ns=20_000_000, timer_interrupts=50,
                               spare_rounds=100 if scenario.startswith("spare") else 0),
    }
