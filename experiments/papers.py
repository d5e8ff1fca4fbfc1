# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of experiments/README.md: every row of the papers, ours next to it, and a verdict.

papers.toml says what a row is; measured.json what was found last, and of which sources.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from experiments import guard, registry
from experiments.common.claims import Claim, Judged, rows
from experiments.common.experiment import Experiment
from experiments.measure.results import Store
from lab.errors import LabError
from lab.paths import REPO

DIRECTORY = REPO / "experiments"
MEASURED = DIRECTORY / "measured.json"
README = DIRECTORY / "README.md"
BEGIN, END = "<!-- papers -->\n", "<!-- end of papers -->\n"
LINUX = "7.3"
"""Of the table: it has the paper's levels."""
EVERYWHERE = ("price",)
"""Experiments that the table has of other versions, too."""
BESIDES = ("at", "samples", "measured")
"""What a claim has in measured.json besides its verdict."""


class Row(NamedTuple):
    """A line of papers.toml."""

    number: str
    theirs: str
    ours: str
    verdict: str
    """Empty: as the claims say that name the row."""
    place: str
    """Where to read on; of what works the test, behind # the suite or test in that file."""
    scenarios: str = ""
    """Those that its claims read, with commas between; empty: all."""


def papers() -> dict[str, list[Row]]:
    """Paper -> rows."""
    text = (DIRECTORY / "papers.toml").read_text()
    return {paper: [Row(*cells) for cells in lines] for paper, lines in tomllib.loads(text).items()}


def judges(row: str) -> tuple[Experiment, list[Claim]] | None:
    """The experiment that judges a row, and by which claims."""
    for experiment in registry.EXPERIMENTS:
        if claims := [c for c in experiment.claims if row in c.rows.split()]:
            return experiment, claims
    return None


def measuring(row: str) -> tuple[Experiment, list[str]]:
    """What has to be run to measure a row again."""
    found = judges(row)
    if not found:
        raise LabError(f"nothing measures row {row}: see experiments/README.md")
    [scenarios] = [r.scenarios for lines in papers().values() for r in lines if r.number == row]
    return found[0], [s for s in scenarios.split(",") if s]


def compact(root: Path) -> dict[str, Any]:
    """What of the raw samples in ``root`` is kept in the repository."""
    kept: dict[str, Any] = {}
    for experiment in registry.EXPERIMENTS:
        store = Store(root, experiment.name)
        by_place: dict[str, list[dict[str, Any]]] = {}
        for system in store:
            by_place.setdefault(system.system.place, []).append(system.meta)
        claims = [{**vars(j), **_measured(by_place[j.where])} for j in experiment.judged(store)
                  if _in_table(experiment.name, j.where)]
        if claims:
            kept[experiment.name] = claims
    return kept


def _in_table(experiment: str, place: str) -> bool:
    return (experiment in EVERYWHERE or place.startswith(("host", "debian"))
            or guard.linux_of(place) == LINUX)


def _measured(systems: list[dict[str, Any]]) -> dict[str, Any]:
    """At which commit, of which sources, how many samples a scenario has at most."""
    taken = [int(n[-1]) for m in systems for c in m["commands"].values()
             if (n := re.findall(r"--(?:jobs|samples)=(\d+)", c))]
    hashes = {m.get("measured", "") for m in systems}
    return {"at": systems[0]["commit"], "samples": max(taken, default=0),
            "measured": hashes.pop() if len(hashes) == 1 else "mixed"}


def saved() -> dict[str, Any]:
    """What measured.json holds."""
    found: dict[str, Any] = json.loads(MEASURED.read_text())
    return found


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """``old``, where what a claim found at a place makes room for what ``new`` found there.

    Claims that are no more go, and what the table does not have.
    """
    result = {}
    for experiment in registry.EXPERIMENTS:
        now = new.get(experiment.name, [])
        again = {(c["text"], c["where"]) for c in now}
        order = [c.title for c in experiment.claims]
        claims = [c for c in (*old.get(experiment.name, []), *now)
                  if c["text"] in order and _in_table(experiment.name, c["where"])
                  and (c in now or (c["text"], c["where"]) not in again)]
        if claims:
            result[experiment.name] = sorted(
                claims, key=lambda c: (order.index(c["text"]), c["where"]))
    return result


def stale(measured: dict[str, Any], root: Path = REPO) -> Iterator[str]:
    """The claims whose figures are not of what is in this tree."""
    for experiment in registry.EXPERIMENTS:
        for claim in experiment.claims:
            found = [c for c in measured.get(experiment.name, []) if c["text"] == claim.title]
            again = claim.rows.split()[0] if claim.rows else experiment.name
            if not found:
                yield f"{again}: not measured: {claim.title}"
            for kept in found:
                if kept["at"].endswith("-dirty"):
                    yield f"{again} ({kept['where']}): measured in a tree that no commit has"
                elif kept.get("measured") != guard.digest(experiment.of, kept["where"], root):
                    of = ", ".join(experiment.of).format(linux=guard.linux_of(kept["where"]))
                    yield f"{again} ({kept['where']}): {of} changed since {kept['at']}"


def edited(measured: dict[str, Any], raw: dict[str, Any]) -> Iterator[str]:
    """The claims that say something else than the raw samples of the same commit."""
    for name, claims in raw.items():
        for fresh in claims:
            for kept in measured.get(name, []):
                same = all(kept[key] == fresh[key] for key in ("text", "where", "at", "samples"))
                if same and kept != json.loads(json.dumps(fresh)):
                    yield f"{name} ({kept['where']}): not what its raw samples say: {kept['text']}"


def save(measured: dict[str, Any]) -> None:
    """Replace it; a claim has a line."""
    text = json.dumps(measured, indent=1, ensure_ascii=False) + "\n"
    MEASURED.write_text(re.sub(r"{[^{}]*}", lambda m: re.sub(r"\s*\n\s*", " ", m[0]), text))


def _cells(found: Iterable[dict[str, Any]], claims: Sequence[Claim]) -> list[str]:
    """Of claims of an experiment: the worst that was found, where it is from, and the verdict."""
    judged = [(claim, Judged(**{k: v for k, v in c.items() if k not in BESIDES}), c)
              for claim in claims for c in found if c["text"] == claim.title]
    if not judged:
        return ["not measured", "", "–"]
    _, worst, kept = max(judged, key=lambda j: (
        j[1].met is False, j[1].met is not None, j[0].badness(j[1].value)))
    verdicts = rows(j for _, j, _ in judged)
    missed = [r for r in verdicts if r.verdict == "missed"]
    verdict = (missed or [r for r in verdicts if r.verdict == "met"] or verdicts)[0]
    where = f" (on {verdict.where})" if verdict.where else ""
    return [f"{worst.found} ({worst.where})".replace("\n", " "),
            "; ".join([kept["at"], *([f"{kept['samples']:,}"] if kept["samples"] else []),
                       *([claims[0].shield] if claims[0].shield else [])]),
            verdict.verdict + where]


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |\n"


def _head(title: str, *names: str) -> str:
    cells = ("", *names, "measured", "at; samples; mode", "verdict")
    return f"\n### {title}\n\n{_line(cells)}|{'---|' * len(cells)}\n"


def table(measured: dict[str, Any]) -> str:
    """The tables as Markdown: the papers' rows, and what is measured and in none of them."""
    text = ""
    for paper, lines in papers().items():
        text += _head(paper, "paper", "ours")
        for row in lines:
            judge = judges(row.number)
            cells = _cells(measured.get(judge[0].name, []), judge[1]) if judge else [
                "", "", row.verdict]
            if judge and row.verdict:
                cells[-1] = row.verdict
            link = f"[{row.number}](../{row.place.partition('#')[0]})"
            text += _line((link, row.theirs, row.ours, *cells))
    text += _head("Beyond the papers", "must be shown")
    for beyond in registry.EXPERIMENTS:
        place = f"[{beyond.name}]({beyond.name.replace('-', '_')})"
        for claim in beyond.claims:
            if not claim.rows:
                text += _line((place, claim.title, *_cells(measured.get(beyond.name, []), [claim])))
    return text


def written(readme: str, measured: dict[str, Any]) -> str:
    """``readme`` with the table between its marks."""
    before, _, rest = readme.partition(BEGIN)
    return f"{before}{BEGIN}{table(measured)}{END}{rest.partition(END)[2]}"
