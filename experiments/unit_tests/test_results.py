# SPDX-License-Identifier: GPL-2.0-or-later
"""Raw samples on disk, and the page drawn from them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from experiments import registry
from experiments.commands import evaluate, report
from experiments.common import fabricated
from experiments.response_time.test_response_time import (
    BASE,
    PLATFORM,
    write_scenario,
    write_system,
)
from experiments.unit_tests.described import described
from lab.commands import cli
from lab.errors import LabError
from lab.measure.results import Store


def test_interrupted_results_leave_the_old_ones(tmp_path: Path) -> None:
    write_system(tmp_path, "stock", {"none": BASE})
    store = Store(tmp_path, "response-time")


    def interrupted() -> None:
        with store.replacing(f"{PLATFORM}-stock") as directory:
            write_scenario(directory / "none", [1, 2, 3])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert np.array_equal(
        Store(tmp_path, "response-time")[f"{PLATFORM}-stock"].table("none", "jobs")["response_ns"],
        BASE)
    assert [p.name for p in store.path.iterdir()] == [f"{PLATFORM}-stock"]


def test_what_is_not_measured_again_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_system(tmp_path, "stock", {"none": BASE, "sync-1": BASE, "sync-100": BASE})
    write_system(tmp_path, "stock", {"sync-1": [7, 8], "sleepers-1": [9]})
    store = Store(tmp_path, "response-time")
    meta = store[f"{PLATFORM}-stock"].meta
    assert meta["scenarios"] == ["none", "sync-1", "sync-100", "sleepers-1"]
    assert set(meta["titles"]) == set(meta["scenarios"])
    assert meta["commands"]["sync-100"] == f"response {len(BASE)}"
    assert meta["commands"]["sync-1"] == "response 2"
    for scenario, responses in (("none", BASE), ("sync-1", [7, 8]), ("sync-100", BASE)):
        jobs = store[f"{PLATFORM}-stock"].table(scenario, "jobs")
        assert jobs["response_ns"].tolist() == responses
    assert capsys.readouterr().out == ""


def test_samples_of_two_kernels_are_not_mixed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_system(tmp_path, "stock", {"none": BASE, "sync-1": BASE})
    write_system(tmp_path, "stock", {"none": BASE}, image=2)
    store = Store(tmp_path, "response-time")
    assert store[f"{PLATFORM}-stock"].scenarios == ["none"]
    assert not store[f"{PLATFORM}-stock"].has("sync-1")
    assert capsys.readouterr().out == (
        f"response-time: {PLATFORM}-stock: dropped what was measured before with another kernel: "
        "sync-1\n")


def test_results_survive_the_moment_in_which_they_change_places(tmp_path: Path) -> None:
    write_system(tmp_path, "stock", {"none": BASE})
    store = Store(tmp_path, "response-time")
    system = f"{PLATFORM}-stock"
    (store.path / system).rename(store.path / f".{system}.old")
    assert store.systems() == []
    with pytest.raises(LabError, match="no results"), store.replacing(system):
        pass
    assert store.systems() == [system]


def test_the_report_is_the_same_every_time(tmp_path: Path) -> None:
    for mode in ("stock", "shielded"):
        write_system(tmp_path, mode, {"none": BASE, "sync-1": BASE, "sync-100": BASE})
    pages = []
    for name in ("a.html", "b.html"):
        report.write(tmp_path, tmp_path / name)
        pages.append((tmp_path / name).read_bytes())
    assert pages[0] == pages[1]
    assert b"<svg" in pages[0]
    assert b"http-equiv" not in pages[0]
    for loaded in (b"<script", b"<link", b"<img", b"@import"):
        assert loaded not in pages[0]


def test_the_report_is_printed_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_system(tmp_path, "stock", {"none": BASE})
    page = tmp_path / "report.html"
    assert cli.main(["report", "--results", str(tmp_path), "-o", str(page)]) == 0
    said = capsys.readouterr().out
    assert re.search(r"none +stock +\d+\.\d\d ", said), said
    assert said.endswith(f"{page}\n")


SYSTEM = f"{PLATFORM}-stock"
TITLELESS = json.dumps({
    "system": described(SYSTEM), "kernel": "", "target": "", "time": "",
    "scenarios": ["none"], "titles": {},
}).encode()
HEAD = b"due_ns,latency_ns,response_ns,interruptions,stolen_ns,products\n"


@pytest.mark.parametrize(("file", "content", "what"), [
    ("none/jobs.csv", b"", "it is empty"),
    ("none/jobs.csv", HEAD, "it has no rows"),
    ("none/jobs.csv", HEAD + b"0,1,2,3,4,5\n1,2", "its last line is not whole"),
    ("none/jobs.csv", HEAD + b"0,1,2,3,4,5\n1,2\n", "line 3 has 2 of 6 columns"),
    ("none/jobs.csv", HEAD + b"0,1,\xff,3,4,5\n", "can't decode byte 0xff"),
    ("none/jobs.csv", HEAD + b"0,1,x,3,4,5\n",
     "column 'response_ns' has something else than numbers"),
    ("none/jobs.csv", b"due_ns\n1\n", "it has no 'response_ns'"),
    ("none/jobs.csv", None, "No such file or directory"),
    ("sync-1/summary.csv", b"name,value\nwindow_ns,1\n", "it has no 'spare_rounds'"),
    ("meta.json", b"{", "Expecting property name"),
    ("meta.json", b"{}", "it does not say 'kernel'"),
    ("meta.json", b"\xff", "can't decode byte 0xff"),
    ("meta.json", b'{"kernel": "", "target": "", "time": ""}', "on which 'system'"),
    ("meta.json", TITLELESS, "it has no title of scenario 'none'"),
])
def test_a_damaged_file_is_named_and_costs_no_other_experiment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, content: bytes | None, what: str
) -> None:
    write_system(tmp_path, "stock", {"none": BASE, "sync-1": BASE})
    hostile = registry.find("hostile")
    fabricated.write(tmp_path, hostile, SYSTEM, ["none", "timerfds-1000"])
    path = tmp_path / "response-time" / SYSTEM / file
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    page = tmp_path / "report.html"
    assert cli.main(["report", "--results", str(tmp_path), "-o", str(page)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"lab: {path}: damaged: ")
    assert what in said
    option = f" --kernels {PLATFORM}" if file != "meta.json" or content == TITLELESS else ""
    assert said.endswith(f"; measure it again with 'lab/lab run response-time{option}'\n")
    text = page.read_text()
    assert "<b>response-time</b>: " in text
    assert str(path) in text
    assert 'id="hostile"' in text
    assert 'id="response-time"' not in text
    assert evaluate.draw(tmp_path, {}, tmp_path / "drawn") == 1
    drawn = json.loads((tmp_path / "drawn" / "results.json").read_text())
    assert str(path) in drawn["failed"]["response-time"]
    assert list(drawn["experiments"]) == ["hostile"]


def test_damaged_results_are_not_carried_over_and_cost_no_new_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_system(tmp_path, "stock", {"none": BASE, "sync-1": BASE})
    meta = tmp_path / "response-time" / SYSTEM / "meta.json"
    meta.write_text("{}")
    write_system(tmp_path, "stock", {"none": BASE})
    assert f"{SYSTEM}: dropped what was measured before: {meta}: damaged" in capsys.readouterr().out
    assert Store(tmp_path, "response-time")[SYSTEM].scenarios == ["none"]


def test_packets_that_cannot_be_read_are_not_too_few(tmp_path: Path) -> None:
    experiment = registry.find("age-of-information")
    fabricated.write(tmp_path, experiment, "host-stock", ["300-mbit"])
    (tmp_path / experiment.name / "host-stock" / "300-mbit" / "packets.csv").unlink()
    with pytest.raises(LabError, match=r"packets.csv: damaged: .* --target host'"):
        experiment.section(Store(tmp_path, experiment.name))


def test_no_results_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no results"):
        report.write(tmp_path, tmp_path / "x.html")
