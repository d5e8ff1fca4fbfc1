# SPDX-License-Identifier: GPL-2.0-or-later
"""Raw samples on disk, and the page drawn from them."""

import json
import shutil
from pathlib import Path

import pytest

from experiments import report
from experiments.measure.results import Store, write_meta
from lab.commands import cli
from lab.errors import LabError

SYSTEM = "x86_64-preempt-stock"
EXPERIMENT = "response-time"


def measure(store: Store, kept: Path, scenarios: list[str], **more: str) -> None:
    """Leave results as a run of some scenarios does."""
    source = kept / EXPERIMENT / SYSTEM
    with store.replacing(SYSTEM) as directory:
        for scenario in scenarios:
            shutil.copytree(source / scenario, directory / scenario)
        meta = json.loads((source / "meta.json").read_text())
        write_meta(directory, {**meta, "scenarios": scenarios, **more})


def test_interrupted_results_leave_the_old_ones(kept: Path, tmp_path: Path) -> None:
    store = Store(tmp_path, EXPERIMENT)
    measure(store, kept, ["none"])

    def interrupted() -> None:
        with store.replacing(SYSTEM) as directory:
            (directory / "none").mkdir()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(store[SYSTEM].table("none", "jobs")["response_ns"])
    assert [p.name for p in store.path.iterdir()] == [SYSTEM]
    # in the moment in which they change places
    (store.path / SYSTEM).rename(store.path / f".{SYSTEM}.old")
    assert store.systems() == []
    with pytest.raises(LabError, match="no results"), store.replacing(SYSTEM):
        pass
    assert store.systems() == [SYSTEM]


def test_what_is_not_measured_again_stays_unless_the_kernel_is_another(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(tmp_path, EXPERIMENT)
    measure(store, kept, ["none", "sync-1"])
    measure(store, kept, ["sync-1", "sync-100"])
    assert store[SYSTEM].scenarios == ["none", "sync-1", "sync-100"]
    assert capsys.readouterr().out == ""
    measure(store, kept, ["none"], image="another")
    assert store[SYSTEM].scenarios == ["none"]
    assert not store[SYSTEM].has("sync-1")
    assert capsys.readouterr().out == (
        f"{EXPERIMENT}: {SYSTEM}: dropped what was measured before with another kernel: sync-1, "
        "sync-100\n")
    (store.path / SYSTEM / "meta.json").write_text("{}")
    measure(store, kept, ["none"])
    assert f"{SYSTEM}: dropped what was measured before: " in capsys.readouterr().out


def test_the_report_is_the_same_every_time_and_loads_nothing(kept: Path, tmp_path: Path) -> None:
    store = Store(tmp_path, EXPERIMENT)
    measure(store, kept, ["none", "sync-1", "sync-100"])
    pages = []
    for name in ("a.html", "b.html"):
        report.write(tmp_path, tmp_path / name)
        pages.append((tmp_path / name).read_bytes())
    assert pages[0] == pages[1]
    assert b"data:image/svg" in pages[0]
    for loaded in (b"<script", b"<link", b"@import", b"http-equiv"):
        assert loaded not in pages[0]
    assert pages[0].count(b"<img") == pages[0].count(b'src="data:')


HEAD = b"due_ns,latency_ns,response_ns,interruptions,stolen_ns,products\n"


@pytest.mark.usefixtures("unpainted")
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
    ("meta.json", b"{", "Expecting property name"),
    ("meta.json", b"{}", "it does not say 'kernel'"),
    ("meta.json", b'{"kernel": "", "target": "", "time": ""}', "on which 'system'"),
])
def test_a_damaged_file_is_named_and_costs_no_other_experiment(
    sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str,
    content: bytes | None, what: str
) -> None:
    for path in sample.iterdir():
        if path.name not in (EXPERIMENT, "low-priority"):
            shutil.rmtree(path)
    path = sample / EXPERIMENT / SYSTEM / file
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    page = tmp_path / "report.html"
    assert cli.main(["report", "--results", str(sample), "-o", str(page)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"lab: {path}: damaged: ")
    assert what in said
    option = "" if file == "meta.json" else " --kernels x86_64-preempt"
    assert said.endswith(f"; measure it again with 'lab/lab run {EXPERIMENT}{option}'\n")
    text = page.read_text()
    assert f"<b>{EXPERIMENT}</b>: " in text
    assert str(path) in text
    assert 'id="low-priority"' in text
    assert f'id="{EXPERIMENT}"' not in text


def test_no_results_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no results"):
        report.write(tmp_path, tmp_path / "x.html")
