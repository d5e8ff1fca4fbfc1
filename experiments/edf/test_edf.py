# SPDX-License-Identifier: GPL-2.0-or-later
"""Which interruptions of a job count."""

from pathlib import Path

import pytest

from experiments.common.fabricated import Files, csv, spans, summary, write_scenarios
from experiments.edf import analysis
from experiments.edf.experiment import EXPERIMENT, TITLES

EDF, SHIELDED = "x86_64-preempt-edf-shielded", "x86_64-preempt-shielded"
SYSTEMS = (EDF, SHIELDED, "x86_64-preempt-stock")
MS = 1_000_000
SECOND = 13 * MS
"""When the second task is due: in a job of the first, away from any tick."""


def files(gap: int = SECOND, period: int = 20 * MS, end: int = 16 * MS, preempted: int = 0,
          start: int = 12 * MS + 5000) -> Files:
    """Two tasks: a job of the first, with a deadline at 22 ms, is interrupted once."""
    return {
        "summary.csv": summary(tasks=2, length_ns=100 * MS, gaps=1, zero_ns=1000 * MS + 700_000),
        "tasks.csv": csv("task,period_ns,work_ns,jobs", [(0, 10 * MS, MS, 1),
                                                         (1, period, MS, 1)]),
        "jobs.csv": csv("task,due_ns,start_ns,end_ns", [(0, 12 * MS, start, end),
                                                        (1, SECOND, end, end + MS)]),
        "gaps.csv": csv("task,job,begin_ns,length_ns,preempted", [(0, 0, gap, 4000, preempted)]),
        "spans.csv": spans("interrupt"),
    }


def fabricated(scenario: str) -> Files:
    return files()


@pytest.mark.parametrize(("given", "kind"), [
    (files(), "later"),
    (files(period=9 * MS + 3000), "unclear"),
    (files(period=8 * MS), "earlier"),
    (files(gap=15 * MS + 300_000 - 1000), "ticks"),
    (files(gap=14 * MS), "others"),
    (files(preempted=1), ""),
])
def test_what_interrupts(tmp_path: Path, given: Files, kind: str) -> None:
    store = write_scenarios(tmp_path, "edf", EDF, {"tasks-10": given})
    found = analysis.interruptions(store[EDF], "tasks-10")
    counts = {k: getattr(found, k) for k in ("later", "unclear", "earlier", "ticks", "others")}
    assert counts == {k: int(k == kind) for k in counts}
    assert found.lost_ns == (4000 if kind == "later" else 0)


@pytest.mark.parametrize(("ours", "theirs", "met"), [
    (files(gap=14 * MS), files(), [True, True, None]),
    (files(), files(), [False, True, None]),
    (files(gap=14 * MS), files(gap=14 * MS), [None, True, None]),
    (files(gap=14 * MS, end=23 * MS), files(), [True, False, None]),
])
def test_claims(
    tmp_path: Path, ours: Files, theirs: Files, met: list[bool | None]
) -> None:
    for system, given in ((EDF, ours), (SHIELDED, theirs)):
        store = write_scenarios(tmp_path, "edf", system, {"tasks-10": given})
    assert [c.met for c in EXPERIMENT.claims(store)] == met


def test_titles_say_how_many_tasks() -> None:
    assert all(name.rpartition("-")[2] in title for name, title in TITLES.items())
