# SPDX-License-Identifier: GPL-2.0-or-later
"""Which culprits ``timershield blame`` names for the README's loads, and what that costs.

A FIFO 99 task does a fixed amount of work at 1 kHz next to each load, and two tasks take turns: by
themselves, and under each source of blame.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.blame import host
from experiments.common import running
from experiments.common.experiment import Context, Experiment, Scenario
from experiments.report.page import Part, Table, Text
from experiments.report.stats import middle_mean, percentile
from experiments.response_loop import runs as response_runs
from experiments.response_time import experiment as response_time
from lab.measure.results import Measured, Store
from lab.measure.systems import Mode, System

SOURCES = {"": "without blame", "bpf": "BPF", "trace": "trace events"}
LOADS = {load.name: load for load in response_time.LOADS
         if load.name in response_time.DEMO and not load.extra}
TURNS = ("--priority=80,70",)
ROUNDS = 2000
ROWS = 6
PERCENTILES = (50, 90, 99, 99.9, 100)
HEAD = ["p50", "p90", "p99", "p99.9", "max"]
WHAT = (
    "In guests instructions, one a nanosecond, on one virtual CPU. 'A job' takes from its period's "
    "beginning to its end; 'an interruption' is the mean time that one takes from it: a timer "
    "interrupt, or two task switches. A round of two tasks that take turns has two wake-ups and "
    "two switches. The rows without blame are what the others are to be compared with. Caches are "
    "not modelled: on a machine blame costs more. There each source has its turn, ten times."
)


def _words(context: Context, name: str) -> tuple[str, ...]:
    """The measuring program and its arguments."""
    if name == "turns":
        return ("context_switch", *TURNS, f"--repeats={context.samples(ROUNDS)}")
    return (response_runs.PROGRAM, f"--jobs={context.jobs}",
            f"--work={response_runs.ROUNDS['x86_64']}",
            *(f"--load={load}" for load in LOADS[name].load.split()))


def _titles() -> dict[str, str]:
    what = {**response_runs.titles(tuple(LOADS.values())), "turns": "two tasks take turns"}
    return {f"{n}-{s}" if s else n: f"{title}, {by}"
            for n, title in what.items() for s, by in SOURCES.items()}


def scenarios(context: Context, sources: Sequence[str]) -> list[Scenario]:
    """Each load without blame, which the others are compared with, and under ``sources``."""
    found = []
    for name in (*LOADS, "turns"):
        program, *words = _words(context, name)
        chosen = [s for s in sources if context.wants(f"{name}-{s}")]
        if context.wants(name) or chosen:
            found.append(Scenario(name, _titles()[name], tuple(words), 300, program=program))
        for source in chosen:
            found.append(Scenario(
                f"{name}-{source}", _titles()[f"{name}-{source}"],
                ("blame", "--realtime", "--csv", "--by=thread", "--output=culprits.csv",
                 f"--source={source}", "--", f"/bin/{program}", *words), 300,
                program="timershield"))
    return found


@dataclass(frozen=True)
class Culprit:
    """A row of blame's for the FIFO 99 task."""

    name: str
    how: str
    masked: str
    count: int
    total: int


def culprits(system: Measured, scenario: str) -> list[Culprit]:
    """The worst first; those of one name and kind are one."""
    path = system.path / scenario / "culprits.csv"
    sums: dict[tuple[str, str, str], tuple[int, int]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["victim_level"] != "FIFO 99":
                continue
            name = row["culprit"].partition("[")[0] if row["tid"] != "0" else row["culprit"]
            key = (f"{name} {row['level']}".strip(), row["how"] or row["function"], row["masked"])
            count, total = sums.get(key, (0, 0))
            sums[key] = (count + int(row["count"]), total + int(row["total_ns"]))
    found = [Culprit(*key, *value) for key, value in sums.items()]
    return sorted(found, key=lambda c: c.total, reverse=True)


def _costs(system: Measured) -> Table:
    rows = []
    for name, load in LOADS.items():
        for source, by in SOURCES.items():
            scenario = f"{name}-{source}" if source else name
            if not system.has(scenario):
                continue
            jobs = system.table(scenario, "jobs")
            times = int(jobs["interruptions"].sum())
            each = f"{jobs['stolen_ns'].sum() / times:,.0f}" if times else ""
            rows.append([f"job, {load.title}", by, f"{times / len(jobs['response_ns']):.2f}", each,
                         *(f"{percentile(jobs['response_ns'], p):,.0f}" for p in PERCENTILES)])
    for source, by in SOURCES.items():
        scenario = f"turns-{source}" if source else "turns"
        if system.has(scenario):
            rounds = np.array(system.table(scenario, "rounds")["round_ns"])
            rows.append(["round of two tasks", by, "", f"{middle_mean(rounds):,.0f}",
                         *(f"{percentile(rounds, p):,.0f}" for p in PERCENTILES)])
    return Table(["what", "source", "interruptions", "each", *HEAD], rows,
                 "ns; 'each' is the mean of an interruption, or of a round without the outer "
                 "twentieths.", text_columns=2)


def _names(system: Measured) -> Table:
    rows = []
    for name, load in LOADS.items():
        source = next((s for s in ("bpf", "trace") if system.has(f"{name}-{s}")), "")
        if not source:
            continue
        found = culprits(system, f"{name}-{source}")
        whole = sum(c.total for c in found) or 1
        rows += [[load.title, c.name, c.how, c.masked, f"{c.count:,}", f"{c.total / 1000:,.1f}",
                  f"{c.total / whole:.1%}"] for c in found[:ROWS] if c.total]
    return Table(["load", "culprit", "how", "masked", "times", "total µs", "share"], rows,
                 f"The worst {ROWS} culprits of the FIFO 99 task; the threads of a process, and "
                 "processes of one name, together.", text_columns=4)


class Blame(Experiment):
    """See the module."""

    name = "blame"
    title = "Which culprits blame names, and what that costs"

    def scenarios(self) -> dict[str, str]:
        return _titles()

    def run(self, context: Context) -> None:
        if context.host:
            host.run(context, self.name, scenarios(context, ("bpf", "trace")))
            return
        if Mode.STOCK in context.modes:    # which says all that the shield switched off would
            context = context.without_off()
        # the lab's own kernels have no BTF
        for sources, debian in ((("bpf", "trace"), True), (("trace",), False)):
            systems = [System(p, m) for p in context.platforms if bool(p.debian) == debian
                       and p.arch == "x86_64" for m in p.modes(context.modes)
                       if not System(p, m).unloads]
            if systems:
                running.run_guest(context, self.name, systems, response_runs.PROGRAM,
                               scenarios(context, sources))

    def parts(self, store: Store) -> list[Part]:
        result: list[Part] = [Text(WHAT)]
        for system in store:
            result += [Text(system.name, heading=True), _names(system), _costs(system)]
        return result


EXPERIMENT = Blame()
