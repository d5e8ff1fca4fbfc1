# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of ranking anew: which executions count, and when a goal is missed."""

from pathlib import Path

from lab.experiments import rank_cost, rank_section
from lab.experiments import rank_samples as rank
from lab.experiments.base import Goal
from lab.report_page import Section
from lab.results import Store
from lab.tests.test_experiments import SHIELDED, STOCK, write

Row = tuple[str, int, int, int]


def spans_csv(*rows: Row) -> str:
    return "span,cpu,begin,instructions\n" + "".join(
        f"{s},{c},{b},{n}\n" for s, c, b, n in rows)


def summary(**values: int) -> str:
    return "name,value\n" + "".join(f"{k},{v}\n" for k, v in values.items())


def case(*rows: Row, **values: int) -> dict[str, str]:
    return {"spans.csv": spans_csv(*rows), "summary.csv": summary(repeats=1, count=0, **values)}


def changes(raised: int, lowered: int) -> dict[str, str]:
    """What one change and its end take."""
    return case(("policy", 0, 100, raised), ("rise", 0, 90, raised + 20),
                ("policy", 0, 100100, lowered), ("fall", 0, 100090, lowered + 20))


def met(goals: list[Goal], word: str) -> bool:
    (goal,) = (g for g in goals if word in g.claim)
    return goal.met


def test_only_what_lies_between_the_marks_counts_and_on_the_busy_cpu(tmp_path: Path) -> None:
    store = write(tmp_path, "rank-cost", STOCK, {"self": case(
        ("policy", 0, 0, 5),                                    # before
        ("policy", 0, 110, 30), ("rise", 0, 100, 50),
        ("policy", 1, 115, 7),                                  # on the other CPU
        ("policy", 0, 150, 9),                                  # behind
        ("policy", 0, 210, 40), ("fall", 0, 200, 60),
        ("policy", 0, 310, 31), ("rise", 0, 300, 50))})
    assert list(rank.samples(store, STOCK, "self", rank.RAISED)) == [30, 31]
    assert list(rank.samples(store, STOCK, "self", rank.LOWERED)) == [40]
    assert list(rank.samples(store, STOCK, "self", rank.ARM)) == []
    assert list(rank.samples(store, STOCK, "self", rank.SETTLING)) == []


def test_a_boost_is_the_first_and_its_end_the_last_of_a_wait(tmp_path: Path) -> None:
    store = write(tmp_path, "rank-cost", STOCK, {"inherit-pause": case(
        ("inherit", 0, 110, 1), ("inherit", 0, 120, 2), ("inherit", 0, 130, 3),
        ("job", 0, 100, 50), ("inherit", 0, 210, 4), ("inherit", 0, 220, 5),
        ("job", 0, 200, 50), ("inherit", 0, 300, 6))})
    assert list(rank.samples(store, STOCK, "inherit-pause", rank.BOOST)) == [1, 4]
    assert list(rank.samples(store, STOCK, "inherit-pause", rank.DEBOOST)) == [3, 5]


def test_offers_are_summed_job_by_job_and_taking_is_the_other_cpus(tmp_path: Path) -> None:
    store = write(tmp_path, "rank-cost", SHIELDED, {"handover-8": case(
        ("offer", 0, 110, 10), ("offer", 0, 130, 15), ("interrupt", 0, 125, 30),
        ("job", 0, 100, 100), ("job", 0, 300, 100), ("offer", 0, 410, 99),
        ("take", 1, 120, 70), ("take", 0, 120, 1))})
    assert list(rank.each_job(store, SHIELDED, "handover-8", rank.OFFER)) == [25, 0]
    assert rank.per_job(store, SHIELDED, "handover-8", rank.INTERRUPTS) == 0.5
    assert list(rank.taking(store, SHIELDED, "handover-8")) == [70]


def test_what_changes_no_level_and_moves_no_timer_may_cost_next_to_nothing(
    tmp_path: Path
) -> None:
    write(tmp_path, "rank-cost", STOCK, {"pause": changes(1000, 1000),
                                         "batch": changes(1000, 1000)})
    store = write(tmp_path, "rank-cost", SHIELDED, {"pause": changes(1051, 1010),
                                                    "batch": changes(1050, 990)})
    goals = rank_cost.EXPERIMENT.goals(store)
    assert met(goals, "no level")
    assert not met(goals, "no timer")
    store = write(tmp_path, "rank-cost", SHIELDED, {"pause": changes(1050, 1010),
                                                    "batch": changes(1020, 1051)})
    goals = rank_cost.EXPERIMENT.goals(store)
    assert not met(goals, "no level")
    assert "batch lowered +51" in goals[0].found
    assert met(goals, "no timer")


def handover(count: int, interrupts: int, offer: int, taken: int) -> dict[str, str]:
    rows: list[Row] = [("interrupt", 0, 110 + i, 1) for i in range(interrupts)]
    rows += [("offer", 0, 200, offer), ("job", 0, 100, 100000)]
    return {"spans.csv": spans_csv(*rows), "summary.csv": summary(
        repeats=1, count=count, taken=taken)}


def goals_of(root: Path, *cases: dict[str, str]) -> list[Goal]:
    named = {f"handover-{n}": c for n, c in zip((0, 100, 400), cases, strict=True)}
    write(root, "rank-cost", STOCK, {"marks": case()})
    return rank_cost.EXPERIMENT.goals(write(root, "rank-cost", SHIELDED, named))


def test_a_hand_over_without_interrupts_and_of_bounded_cost(tmp_path: Path) -> None:
    good = goals_of(tmp_path, handover(0, 5, 40, 0), handover(100, 5, 2000, 100),
                    handover(400, 5, 2050, 400))
    assert met(good, "do not interrupt")
    assert met(good, "bounded")


def test_one_more_interrupt_or_one_timer_that_stays_is_a_miss(tmp_path: Path) -> None:
    interrupted = goals_of(tmp_path, handover(0, 5, 40, 0), handover(100, 6, 2000, 100),
                           handover(400, 5, 2050, 400))
    assert not met(interrupted, "do not interrupt")
    stayed = goals_of(tmp_path, handover(0, 5, 40, 0), handover(100, 5, 2000, 99),
                      handover(400, 5, 2050, 400))
    assert not met(stayed, "do not interrupt")
    assert "1 timers were not" in stayed[0].found


def test_a_cost_that_grows_with_the_timers_is_a_miss(tmp_path: Path) -> None:
    goals = goals_of(tmp_path, handover(0, 5, 40, 0), handover(100, 5, 2000, 100),
                     handover(400, 5, 8000, 400))
    assert not met(goals, "bounded")
    assert met(goals, "do not interrupt")


def markup(section: Section) -> str:
    return "".join(p.markup() for p in section.parts)


def test_the_section_copes_with_what_there_is(tmp_path: Path) -> None:
    store = write(tmp_path, "rank-cost", SHIELDED, {"self": changes(700, 800)})
    assert "700" in markup(rank_cost.EXPERIMENT.section(store))
    store = write(tmp_path, "rank-cost", STOCK, {"self": changes(600, 650)})
    assert "+150" in markup(rank_cost.EXPERIMENT.section(store))
    claims = rank_cost.EXPERIMENT.claims(store)
    assert "itself +100" in claims[0].ours
    assert len(claims) == 1
    empty = Store(tmp_path, "nothing")
    assert rank_cost.EXPERIMENT.goals(empty) == []
    assert rank_cost.EXPERIMENT.claims(empty) == []


def test_every_scenario_can_be_told_from_the_others() -> None:
    names = [name for cases in rank_section.SETS.values() for name, _, _ in cases]
    assert len(names) == len(set(names))
    assert {s for cases in rank_cost.NO_COST.values() for s in cases} <= set(names)
    assert set(rank_section.SETTLES) <= set(names)
    assert {"handover-0", "handover-100", "handover-400"} <= set(names)
