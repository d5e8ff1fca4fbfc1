#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Explore all orders of events in handover.pml, and see that it notices defects.

Each scenario must have no error. Then one defect after another is put into the
protocol (the model names them), and the scenario named with it must find it.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

MODEL = Path(__file__).resolve().with_name("handover.pml")
LIMIT_SECONDS = 300
"""A run takes seconds. On a machine that does much else, minutes."""

SCENARIOS = {
    "thresholds rise and fall, 2 CPUs": "-DN=2 -DOPS=2",
    "a question comes too late, 3 CPUs": "-DN=3 -DOPS=1 -DTHRESHOLDS=2",
    "others fall meanwhile, 3 CPUs": "-DN=3 -DOPS=1 -DASKED=2 -DTHRESHOLDS=212",
    "a CPU offers while another takes, 3 CPUs":
        "-DN=3 -DT=2 -DTOP=3 -DOPS=2 -DASKED=2 -DOFFERED=1 -DTHRESHOLDS=332 -DCHANGES=520",
    "both mask timers": "-DN=2 -DT=2 -DTOP=3 -DOPS=1 -DSPREAD=1 -DTHRESHOLDS=33",
    "arming, cancelling, time passes": "-DN=2 -DOPS=2 -DARM=1 -DSWITCH=0 -DSTART=1",
    "a level changes": "-DN=2 -DTOP=3 -DOPS=1 -DLEVEL=1 -DSWITCH=0 -DASKED=2 -DSTART=1",
    "a callback runs": "-DN=2 -DTOP=3 -DOPS=2 -DARM=1 -DLEVEL=1 -DSWITCH=0 -DASKED=2"
                       " -DOFFERED=1 -DTHRESHOLDS=2",
    "tasks may not run everywhere, 4 CPUs":
        "-DN=4 -DT=2 -DTOP=3 -DOPS=0 -DBARRED=1 -DTHRESHOLDS=203",
    "one offer after the other, 3 CPUs":
        "-DN=3 -DT=2 -DTOP=3 -DOPS=1 -DARM=1 -DSWITCH=0 -DALLOWED=5 -DTHRESHOLDS=303",
    "a CPU goes offline, 3 CPUs": "-DN=3 -DOPS=1 -DHOTPLUG=1 -DSWITCH=0 -DTHRESHOLDS=2",
}

NOTICED_IN = {
    "NO_BARRIER_IN_OFFER": "thresholds rise and fall, 2 CPUs",
    "NO_BARRIER_IN_FELL": "thresholds rise and fall, 2 CPUs",
    "NO_BARRIER_IN_REOFFER": "others fall meanwhile, 3 CPUs",
    "NO_BARRIER_IN_ADD": "a level changes",
    "NO_BARRIER_IN_LEVEL_CHANGED": "a level changes",
    "NO_ASK": "thresholds rise and fall, 2 CPUs",
    "NO_LOOK_IN_FELL": "thresholds rise and fall, 2 CPUs",
    "NO_FELL_IN_RELEASE": "both mask timers",
    "NO_REOFFER": "others fall meanwhile, 3 CPUs",
    "REOFFER_UNLOCKED": "a CPU offers while another takes, 3 CPUs",
    "NO_ASK_FOR_LOW": "a question comes too late, 3 CPUs",
    "NO_ASK_FOR_BARRED": "tasks may not run everywhere, 4 CPUs",
    "NO_OFFER_IN_ARM": "arming, cancelling, time passes",
    "NO_OFFER_WHEN_RAISED": "a level changes",
    "NO_MIGRATION_BASE": "arming, cancelling, time passes",
    "TAKE_RUNNING": "a callback runs",
    "PINNED_ELSEWHERE": "tasks may not run everywhere, 4 CPUs",
    "OFFER_HIDES_OTHERS": "one offer after the other, 3 CPUs",
    "NO_PASSING_ON": "a CPU goes offline, 3 CPUs",
}


class ModelError(Exception):
    """spin or the compiler could not do its work: no verdict on the model."""


@dataclass(frozen=True)
class Outcome:
    """What a run found: nothing, or the first error."""

    states: int
    error: str


def defects() -> dict[str, int]:
    """The names and numbers of the defects that the model knows."""
    block = MODEL.read_text().split("/* Defects", 1)[1].split("c_decl", 1)[0]
    return {name: int(number) for name, number in re.findall(r"#define (\w+) (\d+)", block)}


def run(command: list[str], where: Path, **environment: str) -> str:
    """Run a tool, return what it prints."""
    try:
        done = subprocess.run(
            command, cwd=where, env={**os.environ, **environment}, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_SECONDS,
        )
    except FileNotFoundError as error:
        raise ModelError(f"{command[0]} is missing: apt-get install {command[0]}") from error
    except subprocess.TimeoutExpired as error:
        raise ModelError(f"{command[0]} did not end in {LIMIT_SECONDS} s") from error
    return done.stdout


def build(name: str, where: Path) -> Path:
    """Make the program that explores a scenario."""
    where.mkdir(parents=True, exist_ok=True)
    said = run(["spin", *shlex.split(SCENARIOS[name]), "-a", str(MODEL)], where)
    if "rror" in said:
        raise ModelError(f"{name}: {said}")
    said = run(["gcc", "-O1", "-w", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=2000", "-o", "pan",
                "pan.c"], where)
    if said:
        raise ModelError(f"{name}: {said}")
    return where


def explore(where: Path, mutation: int) -> Outcome:
    """All orders of events, or those until the first error."""
    said = run(["./pan", "-m200000", "-n"], where, MUTATION=str(mutation))
    states = re.search(r"(\d+) states, stored", said)
    if not states or "search depth too small" in said or "-DMEMLIM" in said:
        raise ModelError(said)
    error = re.search(r"^pan:\d+: (.*) \(at depth", said, re.MULTILINE)
    return Outcome(int(states[1]), " ".join(error[1].split()) if error else "")


def check(work: Path, only: str) -> int:
    """Every scenario, then every defect in its scenario. The number of failures."""
    if not any(only in name for name in SCENARIOS):
        raise ModelError(f"there is no scenario '{only}': there are {'; '.join(SCENARIOS)}")
    programs: dict[str, Path] = {}
    passed = failed = 0
    for number, name in enumerate(SCENARIOS):
        if only not in name:
            continue
        programs[name] = build(name, work / str(number))
        outcome = explore(programs[name], 0)
        if outcome.error:
            failed += 1
            print(f"FAILED model: {name}: {outcome.error}", flush=True)
            print("       to see how: give --work DIRECTORY; then there, in the directory"
                  f" {number}: ./pan -m200000 -n; ./pan -r handover.pml.trail", flush=True)
        else:
            passed += 1
            print(f"ok     model: {name} ({outcome.states} states)", flush=True)
    for name, mutation in defects().items():
        scenario = NOTICED_IN.get(name)
        if scenario is None:
            raise ModelError(f"{name}: no scenario is to notice it")
        if scenario not in programs:
            continue
        outcome = explore(programs[scenario], mutation)
        if outcome.error:
            passed += 1
            print(f"ok     model: {name}: {outcome.error}", flush=True)
        else:
            failed += 1
            print(f"FAILED model: {name}: not noticed by: {scenario}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed


def main() -> int:
    """From the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, help="directory for what spin generates")
    parser.add_argument("--only", default="", metavar="TEXT", help="scenarios that contain this")
    given = parser.parse_args()
    try:
        if given.work:
            return 1 if check(given.work, given.only) else 0
        with tempfile.TemporaryDirectory() as work:
            return 1 if check(Path(work), given.only) else 0
    except ModelError as error:
        print(f"model: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
