# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of the papers is that of what was measured, and its links lead somewhere."""

import re
from pathlib import Path
from typing import Any

import pytest

from experiments import guard, papers, registry
from experiments.common.claims import Claim
from lab.paths import REPO

ROWS = [row for rows in papers.papers().values() for row in rows]
EXPERIMENT = registry.find("low-priority")
CLAIM = EXPERIMENT.claims[0]


def found(where: str = "7.3/x86_64-preempt", of: Claim = CLAIM, **more: Any) -> dict[str, Any]:
    """A claim as measured.json has it."""
    return {"text": of.title, "where": where, "found": "1 µs", "met": True, "paper": of.paper,
            "value": 1, "at": "abc", "samples": 100, "measured": "1", **more}


def test_the_readme_has_what_was_measured() -> None:
    text = papers.README.read_text()
    assert papers.written(text, papers.saved()) == text


def test_each_row_has_a_verdict_or_a_claim_that_judges_it() -> None:
    numbers = [row.number for row in ROWS]
    assert len(numbers) == len(set(numbers))
    judged = {r for e in registry.EXPERIMENTS for c in e.claims for r in c.rows.split()}
    assert judged == {row.number for row in ROWS if not row.verdict} | {"T42"}


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.number)
def test_a_row_leads_somewhere_and_what_works_to_its_test(row: papers.Row) -> None:
    file, _, test = row.place.partition("#")
    assert (REPO / file).exists()
    assert test or row.verdict not in ("works", "works in emulation")
    if test:
        word = rf"suite\.{test}\]" if file.endswith("suites.toml") else rf"\b{re.escape(test)}"
        assert re.search(word, (REPO / file).read_text())


def test_no_cell_is_cut() -> None:
    cells = [c for line in papers.table({}).splitlines() for c in line.split("|")]
    assert not [c for c in cells if c.strip().endswith("…")]


def test_the_table_has_the_worst_and_what_is_missed() -> None:
    def cells(*met: bool) -> str:
        claims = [found(f"kernel {i}", found=f"{i} µs", met=m, value=i, at=f"abc{i}")
                  for i, m in enumerate(met)]
        text = papers.table({"low-priority": claims})
        [row] = [line for line in text.splitlines() if line.startswith("| [T36]")]
        return " | ".join(row.split(" | ")[3:])

    assert cells(True, True) == "1 µs (kernel 1) | abc1; 100; 2 | met |"
    assert cells(False, True) == "0 µs (kernel 0) | abc0; 100; 2 | missed (on kernel 0) |"
    assert cells() == "not measured |  | – |"


def test_what_is_measured_anew_replaces_what_the_same_place_had() -> None:
    a, b, c = "7.3/arm64-preempt", "7.3/x86_64-preempt", "7.3/x86_64-rt"
    old = {"low-priority": [found(a), found(b), found("6.12/x86_64-rt"),
                            {**found(a), "text": "of old"}]}
    new = {"low-priority": [found(b, value=2), found(c)]}
    merged = papers.merged(old, new)["low-priority"]
    assert [(f["where"], f["value"]) for f in merged] == [(a, 1), (b, 2), (c, 1)]


def test_a_hash_that_was_changed_by_hand_and_a_changed_line_are_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EXPERIMENT, "of", ("kernel/src",))
    monkeypatch.setattr(EXPERIMENT, "claims", (CLAIM,))
    monkeypatch.setattr(registry, "EXPERIMENTS", (EXPERIMENT,))
    source = tmp_path / "kernel" / "src" / "hrtimer.c"
    source.parent.mkdir(parents=True)
    source.write_text("int a;\t/* one */\n")
    where = "7.3/x86_64-preempt"
    measured = guard.digest(EXPERIMENT.of, where, tmp_path)
    assert list(papers.stale({"low-priority": [found(measured=measured)]}, tmp_path)) == []
    source.write_text("// two\n\nint  a;\n")
    assert list(papers.stale({"low-priority": [found(measured=measured)]}, tmp_path)) == []
    for of, complaint in ((found(measured="0"), "changed since abc"),
                          (found(measured=measured, at="abc-dirty"), "no commit has")):
        [said] = papers.stale({"low-priority": [of]}, tmp_path)
        assert said.startswith(f"T36 ({where})")
        assert complaint in said
    source.write_text("int b;\n")
    [said] = papers.stale({"low-priority": [found(measured=measured)]}, tmp_path)
    assert "kernel/src changed since abc" in said
    [said] = papers.stale({}, tmp_path)
    assert "T36: not measured" in said


def test_what_says_something_else_than_its_raw_samples_is_noticed() -> None:
    raw = {"low-priority": [found()]}
    assert list(papers.edited(raw, raw)) == []
    assert list(papers.edited({"low-priority": [found(at="def", value=2)]}, raw)) == []
    for edit in ({"measured": "2"}, {"value": 2}, {"met": False}):
        [said] = papers.edited({"low-priority": [found(**edit)]}, raw)
        assert said.startswith("low-priority (7.3/x86_64-preempt)")


@pytest.mark.parametrize(("name", "before", "after", "same"), [
    ("a.patch", "+int a; /* x */\n", "+int a; /* y */\n", True),
    ("a.patch", "+/*\n+ * x\n+ */\n+int a;\n", "+int a;\n", True),
    ("a.patch", " context\n+int a;\n", " other\n+int a;\n", True),
    ("a.patch", "+int a;\n", "-int a;\n", False),
    ("a.c", 'char *a = "/* x */";\n', 'char *a = "/* y */";\n', False),
    ("base", "# x\nCONFIG_A=y\n", "CONFIG_A=y\n", True),
    ("base", "# CONFIG_A is not set\n", "", False)])
def test_comments_do_not_count(name: str, before: str, after: str, same: bool) -> None:
    head = "diff --git a/x.c b/x.c\n" if name.endswith(".patch") else ""
    a, b = (guard.stripped(name, head + text) for text in (before, after))
    assert (a == b) == same
