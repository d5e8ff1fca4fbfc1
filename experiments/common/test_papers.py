# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of the papers is that of what was measured, and its links lead somewhere."""

import re
import tomllib
from typing import Any

from experiments import papers, registry
from lab.paths import REPO

ROWS = tomllib.loads((papers.DIRECTORY / "papers.toml").read_text())


def test_the_readme_has_what_was_measured() -> None:
    text = papers.README.read_text()
    assert papers.written(text, papers.saved()) == text


def test_rows_are_measured_by_experiments_and_have_a_verdict() -> None:
    numbers = [row[0] for rows in ROWS["papers"].values() for row in rows]
    assert len(numbers) == len(set(numbers))
    assert ROWS["measured"].keys() <= set(numbers)
    for experiment, _ in ROWS["measured"].values():
        assert experiment in registry.NAMES
    unjudged = {row[0] for rows in ROWS["papers"].values() for row in rows if not row[3]}
    assert unjudged <= ROWS["measured"].keys()


def test_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\(\.\./([^)#]+)\)", papers.README.read_text()):
        assert (REPO / link).exists(), link


def test_a_missed_claim_is_missed_in_the_table() -> None:
    def verdict(*met: bool) -> str:
        claims = [{"text": "The lowest-priority task waits", "where": f"kernel {i}",
                   "found": "1 µs", "met": m, "paper": "Fig 11"} for i, m in enumerate(met)]
        text = papers.table({"low-priority": {"kernels": [], "claims": claims}})
        [row] = [line for line in text.splitlines() if line.startswith("| [T36]")]
        return row.split(" | ")[-1].removesuffix(" |")

    assert verdict(True, True) == "met"
    assert verdict(True, False) == "missed (on kernel 1)"
    assert verdict() == "–"


def test_what_is_measured_anew_replaces_what_the_same_kernel_had() -> None:
    def found(**kernels: str) -> dict[str, Any]:
        claims = [{"text": "a", "where": k, "found": f} for k, f in kernels.items()]
        return {"hostile": {"kernels": sorted(kernels), "claims": claims, "commits": ["a"],
                            "kernel_parts": ["1"], "samples": [100]}}

    old, new = found(arm64="1 µs", rt="2 µs"), found(rt="3 µs", x86="4 µs")
    new["hostile"]["kernel_parts"] = ["2"]
    merged = found(arm64="1 µs", rt="3 µs", x86="4 µs")
    merged["hostile"]["kernel_parts"] = ["1", "2"]
    assert papers.merged(old, new) == merged
    assert papers.stale(old, "1") == []
    assert papers.stale(new, "1") == papers.stale(merged, "1") == ["hostile"]
    assert papers.merged(found(rt="2 µs"), new) == {"hostile": {
        **new["hostile"], "kernels": ["rt", "x86"]}}


def test_figures_of_an_unknown_kernel_part_are_stale() -> None:
    assert papers.stale({"hostile": {"kernels": [], "claims": []}}, "1") == ["hostile"]
    assert papers.stale({"oversleep": {"claims": [], "kernel_parts": []}}, "1") == []
