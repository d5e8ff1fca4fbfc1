# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples of what blame names, and costs."""

from experiments.common.fabricated import Files, csv
from experiments.context_switch.test_context_switch import fabricated as turns
from experiments.response_loop.fabricated import response


def fabricated(scenario: str) -> Files:
    """What the measuring programs and timershield blame leave."""
    culprits = csv("victim_level,culprit,tid,level,how,function,masked,count,total_ns", (
        ("FIFO 99", "hostile[7]", 7, "SCHED_OTHER", "timerfd", "timerfd_tmrproc", "yes", 5, 9_000),
        ("FIFO 99", "tick", 0, "", "", "tick_sched_timer", "no", 3, 6_000)))
    return {**(turns if scenario.startswith("turns") else response)(scenario),
            **({"culprits.csv": culprits} if "-bpf" in scenario or "-trace" in scenario else {})}
