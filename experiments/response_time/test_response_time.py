# SPDX-License-Identifier: GPL-2.0-or-later
"""The goals of the response-time experiment, and from where on the shield pays."""

from pathlib import Path

import pytest

from experiments.common import fabricated as made_up
from experiments.common.fabricated import SHIELDED, STOCK, column, write_scenarios
from experiments.response_loop.fabricated import response
from experiments.response_time import claims, goals
from lab.measure.results import Store, write_meta
from lab.unit_tests.described import described

SYSTEMS = (*made_up.SYSTEMS, "host-stock")
fabricated = response

PLATFORM = "x86_64-rt"


def write_scenario(directory: Path, responses: list[int], interruptions: int = 0,
                   served: int = 5) -> None:
    directory.mkdir(parents=True)
    rows = [f"{i * 1000000},2000,{r},{interruptions},0,0" for i, r in enumerate(responses)]
    (directory / "jobs.csv").write_text(
        "due_ns,latency_ns,response_ns,interruptions,stolen_ns,products\n"
        + "\n".join(rows) + "\n")
    (directory / "tasks.csv").write_text(
        "task,kind,policy,priority,period_ns,phase_ns,expected,served,early\n"
        f"0,sleepers,1,70,1000000,0,5,{served},0\n")
    (directory / "releases.csv").write_text(
        "task,due_ns,lateness_ns,response_ns\n" + "0,0,2000,2500\n" * served)
    (directory / "summary.csv").write_text(
        "name,value\nwindow_ns,1000\nspare_rounds,100\ntimer_interrupts,50\n")


def write_system(root: Path, mode: str, scenarios: dict[str, list[int]], image: int = 1,
                 **more: int) -> None:
    store = Store(root, "response-time")
    with store.replacing(f"{PLATFORM}-{mode}") as directory:
        for name, responses in scenarios.items():
            write_scenario(directory / name, responses, **(more if name != "none" else {}))
        write_meta(directory, {
            "system": described(f"{PLATFORM}-{mode}"),
            "scenarios": list(scenarios), "titles": {n: n for n in scenarios},
            "commands": {n: f"response {len(r)}" for n, r in scenarios.items()},
            "kernel": "Linux", "image": str(image), "time": "counted", "target": "guest",
        })


BASE = list(range(298000, 298500, 5))


def verdicts(root: Path) -> dict[str, bool]:
    found = goals.goals(Store(root, "response-time"))
    return {g.claim.removeprefix(f"{PLATFORM}: ").split(" ")[0] + str(i): g.met
            for i, g in enumerate(found)}


def test_a_perfect_shield_meets_all(tmp_path: Path) -> None:
    for mode in ("stock", "off", "shielded"):
        write_system(tmp_path, mode, {"none": BASE, "sync-100": BASE})
    assert verdicts(tmp_path)
    assert all(verdicts(tmp_path).values())


@pytest.mark.parametrize(("loaded", "more", "failures"), [
    ([b + 2001 for b in BASE], {}, 2),
    (BASE[:-1] + [BASE[-1] + 2001], {}, 1),
    (BASE, {"interruptions": 1}, 1),
    (BASE, {"served": 4}, 1),
])
def test_each_defect_misses_a_goal(
    tmp_path: Path, loaded: list[int], more: dict[str, int], failures: int
) -> None:
    for mode in ("stock", "off"):
        write_system(tmp_path, mode, {"none": BASE, "sync-100": BASE})
    write_system(tmp_path, "shielded", {"none": BASE, "sync-100": loaded}, **more)
    assert sum(not met for met in verdicts(tmp_path).values()) >= failures


def test_the_cost_without_load_is_judged(tmp_path: Path) -> None:
    write_system(tmp_path, "stock", {"none": BASE})
    write_system(tmp_path, "shielded", {"none": [b + 700 for b in BASE]})
    assert not all(verdicts(tmp_path).values())


def test_the_shield_pays_from_where_it_stays_ahead(tmp_path: Path) -> None:
    means = {1: (100, 101), 2: (100, 99), 3: (100, 100), 4: (110, 100), 5: (120, 100)}
    for index, system in enumerate((STOCK, SHIELDED)):
        store = write_scenarios(tmp_path, "response-time", system, {
            f"sync-{n}": {"jobs.csv": column("response_ns", [pair[index]])}
            for n, pair in means.items()})
    scenarios = claims.step_scenarios(True, list(means))
    assert claims.pays_from(store[STOCK], store[SHIELDED], scenarios) == 4
    assert claims.pays_from(store[STOCK], store[SHIELDED], {1: "sync-1"}) is None
