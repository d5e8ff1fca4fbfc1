# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples of responses on an isolated CPU."""

from experiments.common.fabricated import JOBS, Files, csv, summary

SYSTEMS = ("x86_64-preempt-off", "arm64-rt-off")


def fabricated(_: str) -> Files:
    """What the guest leaves."""
    return {"samples.csv": csv("interrupt,woke_ns,interval_ns,response_ns", (
                (i, i * 488_281, 488_281, 9_000 + 7 * i) for i in range(1, JOBS))),
            "visitors.csv": csv("kind,id,name,bound,first_ms,later", (
                ("task", 7, "load", 0, 3, 4), ("irq", 8, "rtc", 1, 1, 9),
                ("lost", 0, "events", 0, 0, 0))),
            "summary.csv": summary(samples=JOBS, period_ns=488_281, shielded=0, missed=0)}
