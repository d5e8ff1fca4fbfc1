# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of the papers is that of what was measured, and its links lead somewhere."""

import re
import tomllib
from pathlib import Path
from typing import Any

from experiments import papers, registry
from experiments.measure.results import Store
from lab.paths import REPO

ROWS = tomllib.loads((papers.DIRECTORY / "papers.toml").read_text())


def test_the_readme_has_what_was_measured() -> None:
    text = papers.README.read_text()
    assert papers.written(text, papers.saved()) == text


def test_each_row_has_a_verdict_or_a_claim_that_judges_it() -> None:
    numbers = [row[0] for rows in ROWS.values() for row in rows]
    assert len(numbers) == len(set(numbers))
    judged = [r for e in registry.EXPERIMENTS for c in e.claims for r in c.rows.split()]
    assert set(judged) == {row[0] for rows in ROWS.values() for row in rows if not row[3]}


def test_no_cell_is_too_long() -> None:
    for line in papers.table(papers.saved()).splitlines():
        for cell in line.strip("| ").split(" | "):
            assert len(re.sub(r"\[(.*)\]\(.*?\)", r"\1", cell)) <= papers.CELL, cell


def test_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\(\.\./([^)#]+)\)", papers.README.read_text()):
        assert (REPO / link).exists(), link


def test_the_table_has_the_worst_and_what_is_missed() -> None:
    def cells(*met: bool) -> str:
        [claim] = registry.find("low-priority").claims
        claims = [{"text": claim.title, "where": f"kernel {i}", "found": f"{i} µs", "met": m,
                   "paper": claim.paper, "value": i, "at": f"abc{i}", "samples": 100}
                  for i, m in enumerate(met)]
        text = papers.table({"low-priority": {"claims": claims}})
        [row] = [line for line in text.splitlines() if line.startswith("| [T36]")]
        return " | ".join(row.split(" | ")[3:])

    assert cells(True, True) == "1 µs (kernel 1) | abc1; 100; 2 | met |"
    assert cells(False, True) == "0 µs (kernel 0) | abc0; 100; 2 | missed (on kernel 0) |"
    assert cells() == "not measured |  | – |"


def test_what_is_measured_anew_replaces_what_the_same_kernel_had() -> None:
    def found(**kernels: str) -> dict[str, Any]:
        claims = [{"text": "a", "where": k, "found": f} for k, f in kernels.items()]
        return {"hostile": {"kernels": sorted(kernels), "claims": claims,
                            "kernel_parts": ["1"]}}

    old, new = found(arm64="1 µs", rt="2 µs"), found(rt="3 µs", x86="4 µs")
    assert papers.merged(old, new) == found(arm64="1 µs", rt="3 µs", x86="4 µs")
    assert papers.stale(old, "1") == []
    new["hostile"]["kernel_parts"] = ["2"]
    assert papers.merged(old, new) == new  # of another kernel part nothing stays
    assert papers.stale(new, "1") == ["hostile"]
    new = found(rt="5 µs")
    new["hostile"]["claims"][0]["text"] = "b"    # of other claims what was found stays
    assert len(papers.merged(old, new)["hostile"]["claims"]) == 3


def test_of_an_option_that_stands_twice_the_last_counts(sample: Path) -> None:
    meta = next(iter(Store(sample, "bounds"))).meta
    commands = {s: c.replace("--jobs=3 ", "--jobs=1000 ") for s, c in meta["commands"].items()}
    found = papers.compact({"experiments": {"bounds": {
        "systems": {"x": {**meta, "commands": commands}},
        "claims": [{"text": "a", "where": "x86_64-preempt", "verdict": "met"}]}}})
    assert found["bounds"]["claims"][0]["samples"] == 100


def test_figures_of_an_unknown_kernel_part_are_stale() -> None:
    assert papers.stale({"hostile": {"kernels": [], "claims": []}}, "1") == ["hostile"]
    assert papers.stale({"oversleep": {"claims": [], "kernel_parts": []}}, "1") == []
