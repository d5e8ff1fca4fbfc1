# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of experiments/README.md: every row of the papers, ours next to it, and a verdict.

papers.toml says what a row is; measured.json what the last evaluation found, as evaluate left it.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from typing import Any

from experiments import registry
from experiments.common.claims import Claim
from experiments.measure.systems import System
from experiments.report.claims import Judged, rows
from lab.paths import REPO

DIRECTORY = REPO / "experiments"
MEASURED = DIRECTORY / "measured.json"
README = DIRECTORY / "README.md"
BEGIN, END = "<!-- papers -->\n", "<!-- end of papers -->\n"
UNKNOWN = ["unknown"]
NOTHING: dict[str, Any] = {"claims": []}
CELL = 80
"""Characters of a cell, without what a link leads to."""


def compact(results: dict[str, Any]) -> dict[str, Any]:
    """What of an evaluation's results.json is kept in the repository; of a machine less."""
    kept = {}
    for name, found in results["experiments"].items():
        systems = found["systems"].values()
        kept[name] = {
            "kernels": sorted({re.sub(r"(\d+\.\d+\.\d+)\S* .*, ", r"\1, ", m["kernel"])
                               for m in systems}),
            "kernel_parts": sorted({m["kernel_part"] for m in systems
                                    if m["target"] == "guest" and m["system"]["mode"] != "stock"}),
            "claims": [{**{k: v for k, v in claim.items() if k != "verdict"},
                        **_measured([m for m in systems if claim["where"]
                                     == System.from_description(m["system"]).place])}
                       for claim in found["claims"]]}
    return kept


def _measured(systems: list[dict[str, Any]]) -> dict[str, Any]:
    """The commit at which they were, and how many samples a scenario has at most."""
    taken = [int(n[-1]) for m in systems for c in m["commands"].values()
             if (n := re.findall(r"--(?:jobs|samples)=(\d+)", c))]
    return {"at": systems[0]["commit"], "samples": max(taken, default=0)}


def saved() -> dict[str, Any]:
    """What measured.json holds."""
    found: dict[str, Any] = json.loads(MEASURED.read_text())
    return found


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """``old``, where what a claim found on a kernel makes room for what ``new`` found there.

    So does what was found with another kernel part.
    """
    result = {**old, **new}
    for name in old.keys() & new.keys():
        before, now = old[name]["claims"], new[name]["claims"]
        order = [c["text"] for c in (*before, *now)]
        again = {(c["text"], c["where"]) for c in now}
        kept = [c for c in before if (c["text"], c["where"]) not in again] if (
            old[name].get("kernel_parts", UNKNOWN) == new[name]["kernel_parts"]) else []
        claims = kept + now
        both = [old[name], new[name]] if kept else [new[name]]
        result[name] = {
            **{key: sorted({v for found in both for v in found.get(key, [])})
               for key in ("kernels", "kernel_parts")},
            "claims": sorted(claims, key=lambda c: (order.index(c["text"]), c["where"]))}
    return result


def stale(measured: dict[str, Any], now: str) -> list[str]:
    """The experiments that have not measured the kernel part that is ``now``."""
    return [name for name, found in measured.items()
            if found.get("kernel_parts", UNKNOWN) not in ([], [now])]


def save(measured: dict[str, Any]) -> None:
    """Replace it."""
    MEASURED.write_text(as_json(measured))


def as_json(value: Any) -> str:
    """Objects and lists that hold no others have a line each."""
    text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
    return re.sub(r"[{\[][^{}\[\]]*[}\]]", lambda m: re.sub(r"\s*\n\s*", " ", m[0]), text)


def _short(words: str, room: int) -> str:
    """As much as a cell has room for; the report has all."""
    words = words.replace("\n", " ")
    return words if len(words) <= room else words[:room - 2].rpartition(" ")[0].rstrip(",;") + " …"


def _cells(found: dict[str, Any], claims: Sequence[Claim]) -> list[str]:
    """Of claims of an experiment: the worst that was found, where it is from, and the verdict."""
    judged = [(claim, Judged(**{k: v for k, v in c.items() if k not in ("at", "samples")}), c)
              for claim in claims for c in found["claims"] if c["text"] == claim.title]
    if not judged:
        return ["not measured", "", "–"]
    _, worst, kept = max(judged, key=lambda j: (
        j[1].met is False, j[1].met is not None, j[0].badness(j[1].value)))
    verdicts = rows(j for _, j, _ in judged)
    missed = [r for r in verdicts if r.verdict == "missed"]
    verdict = (missed or [r for r in verdicts if r.verdict == "met"] or verdicts)[0]
    where = f" (on {verdict.where})" if verdict.where else ""
    place = f" ({worst.where})"
    return [_short(worst.found, CELL - len(place)) + place,
            "; ".join([kept["at"], *([f"{kept['samples']:,}"] if kept["samples"] else []),
                       *([claims[0].shield] if claims[0].shield else [])]),
            _short(verdict.verdict + where, CELL)]


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |\n"


def _head(title: str, *names: str) -> str:
    cells = ("", *names, "measured", "at; samples; mode", "verdict")
    return f"\n### {title}\n\n{_line(cells)}|{'---|' * len(cells)}\n"


def _judges(row: str) -> tuple[str, list[Claim]]:
    """The experiment that judges a row, and by which claims."""
    for experiment in registry.EXPERIMENTS:
        if claims := [c for c in experiment.claims if row in c.rows.split()]:
            return experiment.name, claims
    return "", []


def table(measured: dict[str, Any]) -> str:
    """The tables as Markdown: the papers' rows, and what is measured and in none of them."""
    text = ""
    for paper, lines in tomllib.loads((DIRECTORY / "papers.toml").read_text()).items():
        text += _head(paper, "paper", "ours")
        for number, theirs, ours, verdict, place in lines:
            experiment, claims = _judges(number)
            cells = _cells(measured.get(experiment, NOTHING), claims) if claims else [
                "", "", verdict]
            text += _line((f"[{number}](../{place})", theirs, ours, *cells))
    text += _head("Beyond the papers", "must be shown")
    for beyond in registry.EXPERIMENTS:
        place = f"[{beyond.name}]({beyond.name.replace('-', '_')})"
        for claim in beyond.claims:
            if not claim.rows and (found := measured.get(beyond.name)):
                text += _line((place, claim.title, *_cells(found, [claim])))
    return text


def written(readme: str, measured: dict[str, Any]) -> str:
    """``readme`` with the table between its marks."""
    before, _, rest = readme.partition(BEGIN)
    after = rest.partition(END)[2]
    kernels = sorted({" ".join(re.findall(r"^Linux \S+|(?:Intel|AMD|ARM).*", k))
                      for e in measured.values() for k in e["kernels"] if k.startswith("Linux")})
    return f"{before}{BEGIN}{table(measured)}\nOn {'; '.join(kernels)}.\n{END}{after}"
