# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples of what arming and cancelling a timer takes."""

from pathlib import Path

import pytest

from experiments.common import fabricated as made_up
from experiments.common.fabricated import (
    SHIELDED,
    STOCK,
    Files,
    csv,
    spans,
    summary,
    write_scenarios,
)
from experiments.response_loop.fabricated import response
from experiments.timer_overhead.experiment import EXPERIMENT

SYSTEMS = (*made_up.SYSTEMS, "host-queue")


def queue(update: float = 14.0) -> Files:
    ticks = "min,p5,p50,p95,p99,max,p50_ns,p50_ratio,p95_ratio"
    return {"queue.csv": csv(f"operation,timers,levels,queue,samples,{ticks}", (
                (operation, 50, "one", queue, 527, 23.4, 25.7, 26.6, 27.7, 36.1, 811.0, ns, 1, 1)
                for operation in ("enqueue", "dequeue", "query")
                for queue, ns in (("timerqueue", 9), ("timershield", 13.2), ("indexed", update)))),
            "summary.csv": summary(samples=527)}


def fabricated(scenario: str) -> Files:
    """What the guest leaves, or the queue's benchmark."""
    if scenario == "queue":
        return queue()
    return {**response(scenario),
            "spans.csv": spans("tree-del", "tree-add", "enqueue", "cancel", "start", "wakeup",
                               "interrupt", "device")}


@pytest.mark.parametrize(("update", "met"), [(13.3, True), (13.2, False)])
def test_the_papers_choice_of_tree_is_judged(tmp_path: Path, update: float, met: bool) -> None:
    store = write_scenarios(tmp_path, EXPERIMENT.name, "host-queue", {"queue": queue(update)})
    assert [c.met for c in EXPERIMENT.claims(store)] == [met, None]


@pytest.mark.parametrize(("more", "met"), [(30, True), (31, False)])
def test_arming_that_takes_longer_is_missed(tmp_path: Path, more: int, met: bool) -> None:
    for system, added in ((STOCK, 0), (SHIELDED, more)):
        text = csv("span,cpu,begin,instructions", [("enqueue", 0, 1, 300 + added)])
        store = write_scenarios(tmp_path, EXPERIMENT.name, system, {"none": {"spans.csv": text}})
    (claim,) = EXPERIMENT.claims(store)
    assert claim.met is met
