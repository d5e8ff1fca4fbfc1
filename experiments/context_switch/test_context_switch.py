# SPDX-License-Identifier: GPL-2.0-or-later
"""What a context switch costs, judged from samples."""

from pathlib import Path

import pytest

from experiments.common.fabricated import (
    JOBS,
    SHIELDED,
    STOCK,
    Files,
    column,
    csv,
    spans,
    summary,
    write_scenarios,
)
from experiments.context_switch import experiment as context_switch
from experiments.context_switch import section
from experiments.response_loop.fabricated import response


def fabricated(scenario: str) -> Files:
    """What the guest leaves."""
    marks = {"spans.csv": spans("threshold", "switch", "interrupt")}
    if scenario.startswith("job-"):
        return {**response(scenario), **marks}
    return {**marks, "rounds.csv": csv("round_ns", ((16_000 + i % 2,) for i in range(JOBS))),
            "summary.csv": summary(rounds=JOBS, done_each=1, elapsed_ns=320_010)}


def spans_csv(switch: list[tuple[int, int]]) -> str:
    rows = [f"switch,{b},{n}" for b, n in switch]
    return "span,begin,instructions\n" + "\n".join(rows) + "\n"


def rounds_summary(elapsed: int) -> str:
    return f"name,value\nrounds,10\ndone_each,1\nelapsed_ns,{elapsed}\n"


def test_a_switch_that_takes_more_is_a_miss(tmp_path: Path) -> None:
    rounds = {"rounds.csv": column("round_ns", [100] * 10)}
    before = {"spans.csv": spans_csv([(0, 900)] * 3), "summary.csv": rounds_summary(1000), **rounds}
    after = {"spans.csv": spans_csv([(0, 1000), (5000, 1000), (10000, 1000)]),
             "summary.csv": rounds_summary(1020), **rounds}
    write_scenarios(tmp_path, "context-switch", STOCK, {"fair": before, "job-none": before})
    store = write_scenarios(tmp_path, "context-switch", SHIELDED,
                            {"fair": after, "job-none": after})
    assert section.added(store[STOCK], store[SHIELDED], "job-none") == 100
    level, _, throughput = context_switch.EXPERIMENT.claims(store)
    assert "tasks of one level" in level.text
    assert not level.met
    assert not throughput.met
    assert "0.9804" in throughput.found


@pytest.mark.parametrize(("interrupts", "each", "verdicts"), [
    (10, 1_000, [True, True]), (9, 1_100, [True, True]), (9, 1_200, [True, False]),
    (10, 2_001, [False, False])])
def test_what_timers_take_besides_the_switch_is_judged(
    tmp_path: Path, interrupts: int, each: int, verdicts: list[bool]
) -> None:
    tasks = {"tasks.csv": csv("task,served", [(0, 5)])}
    for system, count, took in ((STOCK, 10, 1_000), (SHIELDED, interrupts, each)):
        loaded = "".join(f"interrupt,0,{took}\n" for _ in range(count))
        store = write_scenarios(tmp_path, "context-switch", system, {
            "job-none": {"spans.csv": spans_csv([(0, 900)] * 10), **tasks},
            "job-sleepers-50": {"spans.csv": spans_csv([(0, 900)] * 10) + loaded, **tasks}})
    found = [c for c in context_switch.EXPERIMENT.claims(store) if "imer" in c.text]
    assert [c.met for c in found] == verdicts


def test_what_scatters_too_much_is_not_judged(tmp_path: Path) -> None:
    for system, rounds in ((STOCK, [100, 102] * 5), (SHIELDED, [130, 90] * 5)):
        store = write_scenarios(tmp_path, "context-switch", system, {"messages": {
            "spans.csv": spans_csv([(0, 900)]), "summary.csv": rounds_summary(sum(rounds)),
            "rounds.csv": column("round_ns", rounds)}})
    assert section.error(store[STOCK], store[SHIELDED], "messages") > context_switch.SCATTER
    assert context_switch._rates(store[STOCK], store[SHIELDED]) == {}


def test_the_typical_switch_is_not_moved_by_outliers_nor_by_which_kind_is_the_median(
    tmp_path: Path
) -> None:
    kinds = [(0, 700)] * 20 + [(0, 1100)] * 20
    write_scenarios(tmp_path, "context-switch", STOCK, {"fifo-fifo": {
        "spans.csv": spans_csv([*kinds, (0, 1100)])}})
    store = write_scenarios(tmp_path, "context-switch", SHIELDED, {"fifo-fifo": {
        "spans.csv": spans_csv([(b, n + 30) for b, n in [*kinds, (0, 700)]] + [(0, 90000)])}})
    assert abs(section.added(store[STOCK], store[SHIELDED], "fifo-fifo") - 30) < 12
