# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples of what arming and cancelling a timer takes."""

from experiments.common import fabricated as made_up
from experiments.common.fabricated import Files, csv, spans, summary
from experiments.response_loop.fabricated import response

SYSTEMS = (*made_up.SYSTEMS, "host-queue")


def queue() -> Files:
    ticks = "min,p5,p50,p95,p99,max,p50_ns,p50_ratio,p95_ratio"
    return {"queue.csv": csv(f"operation,timers,levels,queue,samples,{ticks}", (
                (operation, 50, "one", queue, 527, 23.4, 25.7, 26.6, 27.7, 36.1, 811.0, 13.2, 1, 1)
                for operation in ("enqueue", "dequeue")
                for queue in ("timerqueue", "timershield"))),
            "summary.csv": summary(samples=527)}


def fabricated(scenario: str) -> Files:
    """What the guest leaves, or the queue's benchmark."""
    if scenario == "queue":
        return queue()
    return {**response(scenario),
            "spans.csv": spans("tree-del", "tree-add", "enqueue", "cancel", "start", "wakeup",
                               "interrupt", "device")}
