# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of ranking anew: which executions count, and when a goal is missed."""

from pathlib import Path

from experiments.rank import rank_cost
from experiments.rank import samples as rank
from experiments.rank import section as rank_section
from lab.measure.results import Store
from lab.report.claims import Goal
from lab.report.page import Section
from lab.unit_tests.test_experiments import SHIELDED, STOCK, write

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
    assert list(rank.samples(store[STOCK], "self", rank.RAISED)) == [30, 31]
    assert list(rank.samples(store[STOCK], "self", rank.LOWERED)) == [40]
    assert list(rank.samples(store[STOCK], "self", rank.ARM)) == []
    assert list(rank.samples(store[STOCK], "self", rank.SETTLING)) == []


def test_a_boost_is_the_first_and_its_end_the_last_of_a_wait(tmp_path: Path) -> None:
    store = write(tmp_path, "rank-cost", STOCK, {"inherit-pause": case(
        ("inherit", 0, 110, 1), ("inherit", 0, 120, 2), ("inherit", 0, 130, 3),
        ("job", 0, 100, 50), ("inherit", 0, 210, 4), ("inherit", 0, 220, 5),
        ("job", 0, 200, 50), ("inherit", 0, 300, 6))})
    assert list(rank.samples(store[STOCK], "inherit-pause", rank.BOOST)) == [1, 4]
    assert list(rank.samples(store[STOCK], "inherit-pause", rank.DEBOOST)) == [3, 5]


def test_what_changes_no_level_and_moves_no_timer_may_cost_next_to_nothing(
    tmp_path: Path
) -> None:
    write(tmp_path, "rank-cost", STOCK, {"pause": changes(1000, 1000),
                                         "batch": changes(1000, 1000)})
    store = write(tmp_path, "rank-cost", SHIELDED, {"pause": changes(1031, 1010),
                                                    "batch": changes(1030, 990)})
    goals = rank_cost.EXPERIMENT.goals(store)
    assert met(goals, "no level")
    assert not met(goals, "no timer")
    store = write(tmp_path, "rank-cost", SHIELDED, {"pause": changes(1030, 1010),
                                                    "batch": changes(1020, 1051)})
    goals = rank_cost.EXPERIMENT.goals(store)
    assert not met(goals, "no level")
    assert "batch lowered +51" in goals[0].found
    assert met(goals, "no timer")


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
