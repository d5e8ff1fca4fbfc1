# SPDX-License-Identifier: GPL-2.0-or-later
"""What the response-time experiment must show, and from where on the shield pays."""

from pathlib import Path

import pytest

from experiments.common import fabricated as made_up
from experiments.common.fabricated import SHIELDED, STOCK, column, csv, summary, write_scenarios
from experiments.response_loop.fabricated import response
from experiments.response_time import claims, steps
from experiments.response_time.experiment import STEPS
from experiments.unit_tests.described import described
from lab.measure.results import Store, write_meta

SYSTEMS = (*made_up.SYSTEMS, "host-stock")
fabricated = response

PLATFORM = "x86_64-rt"


def write_scenario(directory: Path, responses: list[int], interruptions: int = 0,
                   served: int = 5, late: int = 0, spare: int = 100, interrupts: int = 50) -> None:
    directory.mkdir(parents=True)
    rows = [f"{i * 1000000},2000,{r},{interruptions},0,0" for i, r in enumerate(responses)]
    (directory / "jobs.csv").write_text(
        "due_ns,latency_ns,response_ns,interruptions,stolen_ns,products\n"
        + "\n".join(rows) + "\n")
    (directory / "tasks.csv").write_text(
        "task,kind,policy,priority,period_ns,phase_ns,expected,served,early\n"
        f"0,sleepers,1,70,1000000,0,5,{served},0\n")
    (directory / "releases.csv").write_text(
        "task,due_ns,lateness_ns,response_ns\n" + f"0,0,2000,{2500 + late}\n" * served)
    (directory / "summary.csv").write_text(
        f"name,value\nwindow_ns,1000\nspare_rounds,{spare}\ntimer_interrupts,{interrupts}\n")


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


def missed(root: Path) -> list[str]:
    """The beginnings of the claims that these samples miss, of those that they can judge."""
    found = [c for c in claims.claims(Store(root, "response-time"), STEPS) if c.met is not None]
    assert found
    return [c.text.split(" ")[0] for c in found if not c.met]


LATE = BASE[:-1] + [BASE[-1] + 2001]


@pytest.mark.parametrize(("spoiled", "loaded", "more", "expected"), [
    ("", BASE, {}, []),
    ("shielded", [b + 2001 for b in BASE], {}, ["The", "Every", "Every"]),
    ("shielded", LATE, {}, ["The", "Every"]),
    ("shielded", BASE, {"interruptions": 1}, ["No", "The"]),
    ("shielded", BASE, {"served": 4}, ["Every"]),
    ("shielded", BASE, {"late": 501}, ["Low-priority"]),
    ("shielded", BASE, {"spare": 97}, ["Spare"]),
    ("shielded", BASE, {"interrupts": 51}, ["No"]),
    ("off", [b + 700 for b in BASE], {}, ["Switched"]),
])
def test_each_claim_is_missed_by_spoiled_samples(
    tmp_path: Path, spoiled: str, loaded: list[int], more: dict[str, int], expected: list[str]
) -> None:
    for mode in ("stock", "off", "shielded"):
        bad = mode == spoiled
        samples = loaded if bad else BASE
        write_system(tmp_path, mode, {"none": BASE, "sync-100": samples, "spare-100": BASE},
                     **(more if bad else {}))
    assert missed(tmp_path) == expected


@pytest.mark.parametrize(("interruptions", "expected"), [(1, []), (2, ["No"])])
def test_the_tick_is_no_lower_ranking_timer(
    tmp_path: Path, interruptions: int, expected: list[str]
) -> None:
    store = write_scenarios(tmp_path, "response-time", "x86_64-rt-shielded", {
        name: {**response(name), "jobs.csv": csv("response_ns,interruptions", [(300, n)])}
        for name, n in (("phase-none", 1), ("phase-hogs-2", interruptions))})
    found = claims.claims(store, STEPS)
    assert [c.text.split(" ")[0] for c in found if c.met is False] == expected


def test_the_papers_own_load_is_judged(tmp_path: Path) -> None:
    for mode, loaded in (("stock", BASE), ("shielded", LATE)):
        write_system(tmp_path, mode, {"paper-none": BASE, "paper-cyclictest-100": loaded})
    assert missed(tmp_path) == ["The", "The", "Every"]


def test_the_cost_without_load_is_judged(tmp_path: Path) -> None:
    write_system(tmp_path, "stock", {"none": BASE})
    write_system(tmp_path, "shielded", {"none": [b + 700 for b in BASE]})
    assert missed(tmp_path) == ["Without"]


def test_one_step_does_not_say_from_where_the_shield_pays(tmp_path: Path) -> None:
    for mode in ("stock", "shielded"):
        write_system(tmp_path, mode, {"none": BASE, "sync-100": BASE})
    found = claims.claims(Store(tmp_path, "response-time"), STEPS)
    assert not [c for c in found if "pays" in c.text]


@pytest.mark.parametrize(("last", "met"), [(3, True), (4, False)])
def test_the_shield_that_pays_later_than_the_papers_is_missed(
    tmp_path: Path, last: int, met: bool
) -> None:
    for index, system in enumerate((STOCK, SHIELDED)):
        store = write_scenarios(tmp_path, "response-time", system, {
            f"sync-{n}": {**response("none"), "jobs.csv": csv("response_ns,interruptions", [
                ((100, 99 if n >= last else 101)[index], 0)])} for n in range(1, 6)})
    [claim] = [c for c in claims.claims(store, STEPS) if "pays" in c.text]
    assert claim.met is met


@pytest.mark.parametrize(("varied", "met"), [(970, True), (969, False)])
def test_varied_priorities_that_cost_more_are_missed(
    tmp_path: Path, varied: int, met: bool
) -> None:
    for system, one, many in ((STOCK, 1000, 1000), (SHIELDED, 970, varied)):
        store = write_scenarios(tmp_path, "response-time", system, {
            name: {**response(name), "summary.csv": summary(spare_rounds=n, window_ns=10,
                                                            timer_interrupts=5)}
            for name, n in (("spare-100", one), ("spare-spread-100", many))})
    [claim] = [c for c in claims.claims(store, STEPS) if "priorities" in c.text]
    assert claim.met is met


def test_the_shield_pays_from_where_it_stays_ahead(tmp_path: Path) -> None:
    means = {1: (100, 101), 2: (100, 99), 3: (100, 100), 4: (110, 100), 5: (120, 100)}
    for index, system in enumerate((STOCK, SHIELDED)):
        store = write_scenarios(tmp_path, "response-time", system, {
            f"sync-{n}": {"jobs.csv": column("response_ns", [pair[index]])}
            for n, pair in means.items()})
    scenarios = steps.step_scenarios(True, list(means))
    assert steps.pays_from(store[STOCK], store[SHIELDED], scenarios) == 4
    assert steps.pays_from(store[STOCK], store[SHIELDED], {1: "sync-1"}) is None
