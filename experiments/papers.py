# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of experiments/README.md: every row of the papers, ours next to it, and a verdict.

papers.toml says what a row is; measured.json what the last evaluation found, as evaluate left it.
"""

import json
import re
import tomllib
from collections.abc import Collection, Iterable
from typing import Any

from experiments.report.claims import Claim, rows
from lab.paths import REPO

DIRECTORY = REPO / "experiments"
MEASURED = DIRECTORY / "measured.json"
README = DIRECTORY / "README.md"
BEGIN, END = "<!-- papers -->\n", "<!-- end of papers -->\n"


UNKNOWN = ["unknown"]


def compact(results: dict[str, Any]) -> dict[str, Any]:
    """What of an evaluation's results.json is kept in the repository; of a machine less."""
    return {name: _compact(found) for name, found in results["experiments"].items()}


def _compact(found: dict[str, Any]) -> dict[str, Any]:
    systems = found["systems"].values()
    commands = " ".join(c for m in systems for c in m["commands"].values())
    return {
        "kernels": sorted({re.sub(r"(\d+\.\d+\.\d+)\S* .*, ", r"\1, ", m["kernel"])
                           for m in systems}),
        "commits": sorted({m["commit"] for m in systems}),
        "kernel_parts": sorted({m["kernel_part"] for m in systems if m["target"] == "guest"}),
        "samples": sorted({int(n) for n in re.findall(r"--(?:jobs|samples)=(\d+)", commands)}),
        "claims": [{k: v for k, v in claim.items() if k != "verdict"}
                   for claim in found["claims"]]}


def saved() -> dict[str, Any]:
    """What measured.json holds."""
    found: dict[str, Any] = json.loads(MEASURED.read_text())
    return found


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """``old``, where what was found on a kernel makes room for what ``new`` found there."""
    result = {**old, **new}
    for name in old.keys() & new.keys():
        before, now = old[name]["claims"], new[name]["claims"]
        order = [c["text"] for c in (*before, *now)]
        again = {c["where"] for c in now}
        kept = [c for c in before if c["where"] not in again]
        claims = kept + now
        both = [old[name], new[name]] if kept else [new[name]]
        result[name] = {
            **{key: sorted({v for found in both for v in found.get(key, UNKNOWN)})
               for key in ("kernels", "commits", "kernel_parts")},
            "samples": sorted({n for found in both for n in found.get("samples", [])}),
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


def _measured(measured: dict[str, Any], experiment: str, begins: str) -> tuple[str, str]:
    """What was found for the claims that begin so, and their verdict."""
    claims = [Claim(**c) for c in measured.get(experiment, {}).get("claims", [])]
    found = rows(c for c in claims if c.text.startswith(begins))
    if not found:
        return "not measured", "–"
    words = {r.verdict + (f" (on {r.where})" if r.where else "") for r in found}
    verdict = next((w for w in sorted(words) if w.startswith("missed")), sorted(words)[0])
    text = "<br>".join(r.found.replace("\n", "<br>") for r in found)
    if samples := measured[experiment].get("samples"):
        text += f" (at most {samples[-1]:,} samples a scenario)"
    return text, verdict


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |\n"


def _beyond(measured: dict[str, Any], shown: Collection[list[str]]) -> str:
    """What is measured and is in no paper's row."""
    text = "\n### Beyond the papers\n\n| must be shown | measured | verdict |\n|---|---|---|\n"
    for experiment in measured:
        claims = [c["text"] for c in measured[experiment]["claims"]]
        for claim in dict.fromkeys(claims):
            if not any(e == experiment and claim.startswith(begins) for e, begins in shown):
                link = f"[{claim}](../experiments/{experiment.replace('-', '_')})"
                text += _line((link, *_measured(measured, experiment, claim)))
    return text


def table(measured: dict[str, Any]) -> str:
    """The table as Markdown."""
    rows_of = tomllib.loads((DIRECTORY / "papers.toml").read_text())
    text = ""
    for paper, lines in rows_of["papers"].items():
        text += f"\n### {paper}\n\n| | paper | ours | measured | verdict |\n|---|---|---|---|---|\n"
        for number, theirs, ours, verdict, place in lines:
            found = ""
            if number in rows_of["measured"]:
                found, verdict = _measured(measured, *rows_of["measured"][number])
            link = f"[{number}](../{place})" if place else number
            text += _line((link, theirs, ours, found, verdict))
    return text + _beyond(measured, rows_of["measured"].values())


def written(readme: str, measured: dict[str, Any]) -> str:
    """``readme`` with the table between its marks."""
    before, _, rest = readme.partition(BEGIN)
    after = rest.partition(END)[2]
    kernels = sorted({k for e in measured.values() for k in e["kernels"]})
    commits = sorted({c for e in measured.values() for c in e.get("commits", UNKNOWN)})
    return (f"{before}{BEGIN}{table(measured)}\nMeasured at commit {', '.join(commits)}, on: "
            f"{'; '.join(kernels)}.\n"
            f"{END}{after}")
