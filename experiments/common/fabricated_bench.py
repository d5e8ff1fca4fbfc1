# SPDX-License-Identifier: GPL-2.0-or-later
"""Results that look like those of clockfix-bench, for tests."""

from experiments.common.fabricated import Files, csv, summary
from experiments.learning_cost.experiment import FUNCTIONS
from experiments.oversleep.experiment import RIVALS


def bench(_: str) -> Files:
    """What clockfix-bench and learning_cost leave."""
    percents = "p1_ns,p50_ns,p95_ns,p99_ns,p999_ns,max_ns"
    return {
        "rivals.csv": csv(f"rival,jobs,{percents},share_over_1us,cpu_share", (
            (rival, 1000, 20 + i, 30 + i, 40 + i, 50 + i, 60 + i, 90 + i, 0.01, 0.5)
            for i, rival in enumerate(RIVALS))),
        "quantiles.csv": csv("rival,share,late_ns", (
            (rival, share / 10, 20 + share) for rival in RIVALS
            for share in range(11))),
        "costs.csv": csv("what,took_ns,count", (
            (what, 20 + i, 100) for what in (*FUNCTIONS, "clock_gettime", "counter")
            for i in range(5))),
        "summary.csv": summary(interval_ns=100_000, fifo_priority=0, stolen_ms=0, samples=500),
    }
