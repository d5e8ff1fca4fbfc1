# SPDX-License-Identifier: GPL-2.0-or-later
"""A job's end next to another CPU is what was executed, not what the clock shows."""

from pathlib import Path

import pytest

from experiments.common import fabricated as made_up
from experiments.common.fabricated import Files, spans
from experiments.report.page import Table
from experiments.response_loop.fabricated import response
from experiments.together import section as together_section
from experiments.together.experiment import CPUS, EXPERIMENT
from experiments.unit_tests.described import described
from lab.errors import LabError
from lab.measure.results import Store, write_meta
from lab.measure.systems import Mode, Platform, System

PLATFORM = Platform("x86_64", "preempt")
MARKS = 170
SYSTEMS = (*made_up.SYSTEMS, "x86_64-preempt-2cpus-stock", "x86_64-preempt-2cpus-shielded",
           "host-stock")


def fabricated(scenario: str) -> Files:
    """What the guest leaves."""
    return {**response(scenario), "spans.csv": spans("work")}


def measured(root: Path, system: str, scenario: str, jobs: list[tuple[int, int, int]]) -> None:
    """Add a scenario: each job's start and end by the clock, and what the kernel executed."""
    store = Store(root, EXPERIMENT.name)
    there = store[system].scenarios if system in store.systems() else []
    directory = store.path / system
    (directory / scenario).mkdir(parents=True)
    (directory / scenario / "summary.csv").write_text("name,value\n")
    (directory / scenario / "jobs.csv").write_text(
        "due_ns,latency_ns,response_ns\n" + "".join(f"0,{a},{b}\n" for a, b, _ in jobs))
    (directory / scenario / "spans.csv").write_text(
        "span,cpu,begin,instructions\nwork,1,0,99999\n"
        + "".join(f"work,0,0,{c}\n" for *_, c in jobs))
    names = [*there, scenario]
    write_meta(directory, {"system": described(system), "scenarios": names,
                           "titles": {n: n for n in names},
                           "kernel": "Linux", "time": "counted", "target": "guest"})


def all_layers(root: Path) -> None:
    stock, shielded = (System(PLATFORM, m, CPUS).name for m in (Mode.STOCK, Mode.SHIELDED))
    measured(root, stock, "nanosleep", [(20_000, 330_000, MARKS + 9_000)])
    measured(root, stock, "clockfix", [(1_000, 311_000, MARKS + 9_000)])
    measured(root, shielded, "clockfix", [(1_000, 302_000, MARKS)])
    measured(root, shielded, "clockfix-isolated", [(500, 303_000, MARKS), (600, 300_000, MARKS)])


def test_turns_of_the_other_cpu_are_not_lateness(tmp_path: Path) -> None:
    all_layers(tmp_path)
    store = Store(tmp_path, EXPERIMENT.name)
    modes = {m.value: store[System(PLATFORM, m, CPUS).name] for m in (Mode.STOCK, Mode.SHIELDED)}
    found = together_section.lateness(modes, together_section.PAIR_LAYERS[0])
    assert found is not None
    assert [s.tolist() for s in found] == [[20.0], [29.0]]
    found = together_section.lateness(modes, together_section.PAIR_LAYERS[3])
    assert found is not None
    assert [s.tolist() for s in found] == [[0.5, 0.6], [0.5, 0.6]]
    claim, = EXPERIMENT.claims(store)
    assert claim.met
    assert claim.where.endswith("two CPUs")
    assert claim.found == "latest 0.60 µs, without any 29.0 µs"


def test_an_isolated_cpu_without_the_shield_is_told(tmp_path: Path) -> None:
    all_layers(tmp_path)
    stock = System(PLATFORM, Mode.STOCK, CPUS).name
    measured(tmp_path, stock, "clockfix-isolated", [(1_000, 303_000, MARKS + 700)])
    claim, = EXPERIMENT.claims(Store(tmp_path, EXPERIMENT.name))
    assert claim.found.endswith(", without TimerShield 1.70 µs")


def test_one_late_end_is_missed(tmp_path: Path) -> None:
    all_layers(tmp_path)
    shielded = System(PLATFORM, Mode.SHIELDED, CPUS).name
    spans_of = tmp_path / EXPERIMENT.name / shielded / "clockfix-isolated" / "spans.csv"
    spans_of.write_text(spans_of.read_text().replace(f"work,0,0,{MARKS}\n", "work,0,0,9170\n", 1))
    claim, = EXPERIMENT.claims(Store(tmp_path, EXPERIMENT.name))
    assert claim.met is False


def test_the_isolated_cpu_is_in_the_picture(tmp_path: Path) -> None:
    all_layers(tmp_path)
    page = EXPERIMENT.section(Store(tmp_path, EXPERIMENT.name)).markup(True)
    assert page.count("<svg") == 1
    assert "two CPUs: 1 jobs a line" in page


def test_a_job_that_was_not_counted_is_an_error(tmp_path: Path) -> None:
    system = System(PLATFORM, Mode.STOCK, CPUS).name
    measured(tmp_path, system, "nanosleep", [(1, 2, MARKS)])
    spans = tmp_path / EXPERIMENT.name / system / "nanosleep" / "spans.csv"
    spans.write_text("span,cpu,begin,instructions\n")
    with pytest.raises(LabError, match="0 of 1 jobs"):
        together_section.lateness({"stock": Store(tmp_path, EXPERIMENT.name)[system]},
                                  together_section.PAIR_LAYERS[0])


def test_each_kind_of_load_has_a_row(tmp_path: Path) -> None:
    all_layers(tmp_path)
    measured(tmp_path, System(PLATFORM, Mode.SHIELDED, CPUS).name, "isolated-hogs",
             [(1_000, 302_000, MARKS + 500)])
    table = EXPERIMENT.parts(Store(tmp_path, EXPERIMENT.name))[-1]
    assert isinstance(table, Table)
    assert table.rows == [["hogs", "–", "–", "–", "1.00 / 1.00 / 1.50 / 1.50"]]
