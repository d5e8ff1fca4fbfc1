# SPDX-License-Identifier: GPL-2.0-or-later
"""Response time of a 1 kHz SCHED_FIFO 99 job next to timers of lower-ranking tasks.

The paper's section IV-C: unsynchronized releases (Figs 5, 6) and synchronized ones (Figs 7, 8).
"""

import math
from collections.abc import Callable

import numpy as np

from experiments.bounds import bound
from experiments.common import compare, runs
from experiments.common.claims import SHIELDED, Claim, Found, worst
from experiments.common.experiment import Context, Experiment
from experiments.common.runs import Load
from experiments.common.shown import jobs
from experiments.common.stats import Summary, percentile, summarize
from experiments.measure.results import Measured

PHASE = ("--period=1037000",)
"""Jobs of other scenarios begin half-way between two ticks; these fall on ticks, too."""
CYCLICTEST = "/usr/bin/cyclictest"
PAPER = ("--products=1500",)
"""200 us of matrix multiplications in a guest."""
NUMBERS = (*range(1, 11), 15, 20, 30, 40, 50, 70, 80, 100)
"""Of low-priority tasks, for the figure of where the shield begins to pay."""
QUOTA = ("--quota=20",)
"""Groups, each in the other, of which each may have half of every 2 ms (cpu.max)."""


def _sleepers(n: int, synchronized: bool) -> Load:
    name = ("sync" if synchronized else "sleepers") + f"-{n}"
    words = f"{n} FIFO-70 sleeper{'s' * (n > 1)}, {'' if synchronized else 'un'}synchronized"
    return Load(name, words, f"sleepers:n={n}{',sync' * synchronized}", off=False)


LOADS = (
    Load("none", "no load"),
    *(_sleepers(n, synchronized) for synchronized in (False, True) for n in NUMBERS),
    Load("quota-2", "2 ordinary processes that compute in throttled groups", "hogs:n=2", QUOTA),
    *(Load(f"phase-{name}", f"{title}, period 1.037 ms", load, PHASE) for name, title, load in (
        ("none", "no load", ""), ("timerfds-1000", "1,000 timerfds", "timerfds:n=1000"))),
    *(Load(f"paper-{name}", f"200 µs of matrices, {title}", load, PAPER, off=False,
           tools=(CYCLICTEST,))
      for name, title, load in (
          ("none", "no load", ""),
          ("cyclictest-100", "100 processes of cyclictest", "cyclictest:n=100"))),
)


def _responses(system: Measured) -> dict[str, Summary]:
    """Of the jobs that do a fixed amount of work, by scenario."""
    return {s: summarize(system.table(s, "jobs")["response_ns"]) for s in compare.timed(system)}


def _loaded(found: dict[str, Summary]) -> list[str]:
    """Those that can be compared with the same without load."""
    return [s for s in found if not s.endswith("none") and compare.idle(s) in found]


def _interrupted(system: Measured, scenario: str) -> int:
    return int(system.table(scenario, "jobs")["interruptions"].sum())


def _interruptions(shielded: Measured) -> Found | None:
    """What the tick does where nothing else runs is not counted."""
    counts = {s: _interrupted(shielded, s) for s in compare.timed(shielded)
              if not s.startswith("phase-")}
    if not counts:
        return None
    most = max(counts, key=lambda s: counts[s])
    total = sum(counts.values())
    return Found(f"{total} in {len(counts)} scenarios" + (f", most in {most}" if total else ""),
                 total)


def _throttled(stock: Measured, shielded: Measured) -> Found | None:
    if not compare.both("quota-2", stock, shielded):
        return None
    theirs, ours = (_interrupted(s, "quota-2") / len(s.table("quota-2", "jobs")["due_ns"])
                    for s in (stock, shielded))
    return Found(f"{ours:.2f} interruptions a job, stock {theirs:.2f}", ours)


def _maximum(shielded: Measured) -> Found | None:
    found = _responses(shielded)
    return worst({s: (found[s].maximum - found[compare.idle(s)].maximum) / 1000
                  for s in _loaded(found)}, "at most {:+.2f} µs")


def _low_priority(stock: Measured, shielded: Measured) -> Found | None:
    more = {}
    for scenario in compare.timed(shielded):
        if scenario.endswith("none") or not stock.has(scenario):
            continue
        a, b = (s.table(scenario, "releases")["response_ns"] for s in (shielded, stock))
        if len(a) and len(b):
            more[scenario] = percentile(a, 50) - percentile(b, 50)
    return worst(more, "at most {:+,.0f} ns")


def _served(shielded: Measured) -> Found | None:
    expected = served = early = 0
    for scenario in shielded.scenarios:
        if scenario.endswith("none"):
            continue
        tasks = shielded.table(scenario, "tasks")
        expected += int(tasks["expected"].sum())
        served += int(np.minimum(tasks["served"], tasks["expected"]).sum())
        early += int(tasks["early"].sum())
    return Found(f"{served:,} of {expected:,} served, {early} early",
                 expected - served + early) if expected else None


def _more(system: Measured, scenario: str, woken: bool) -> tuple[float, float]:
    """Median and maximum over those without load, ns."""
    idle, load = (
        summarize(jobs["response_ns"] - (jobs["latency_ns"] if woken else 0))
        for jobs in (system.table(s, "jobs") for s in (compare.idle(scenario), scenario)))
    return load.p50 - idle.p50, load.maximum - idle.maximum


def _unaffected(
    scenario: str, woken: bool = False
) -> Callable[[Measured, Measured], Found | None]:
    """``woken``: from a job's first instruction on, not from its release."""
    def metric(stock: Measured, shielded: Measured) -> Found | None:
        if not all(compare.both(s, stock, shielded) for s in (compare.idle(scenario), scenario)):
            return None
        theirs, ours = (_more(s, scenario, woken) for s in (stock, shielded))
        amiss = not woken and _interrupted(shielded, scenario)
        return Found(f"max {ours[1] / 1000:+.2f} µs, stock {theirs[1] / 1000:+.2f} µs",
                     math.inf if amiss else ours[1] / 1000)
    return metric


def scenario(synchronized: bool, n: int) -> str:
    """With ``n`` tasks."""
    return f"{'sync' if synchronized else 'sleepers'}-{n}"


def pays_from(stock: Measured, shielded: Measured, scenarios: dict[int, str]) -> int | None:
    """From how many tasks on the shielded mean is below stock's, for that many and all more."""
    first = None
    for n, name in sorted(scenarios.items(), reverse=True):
        a, b = (s.table(name, "jobs")["response_ns"].mean() for s in (shielded, stock))
        if a >= b:
            break
        first = n
    return first


def _pays(synchronized: bool) -> Callable[[Measured, Measured], Found | None]:
    def metric(stock: Measured, shielded: Measured) -> Found | None:
        found = {n: name for n in NUMBERS
                 if compare.both(name := scenario(synchronized, n), stock, shielded)}
        if len(found) < 2:
            return None
        n = pays_from(stock, shielded, found)
        return Found("never" if n is None else f"from {n} on", math.inf if n is None else n)
    return metric


class ResponseTime(Experiment):
    """See the module."""

    name = "response-time"
    title = "Response time of a high-priority task next to lower-priority timers"
    choices = LOADS
    claims = (
        Claim("No job is interrupted by a lower-ranking timer", _interruptions, most=0, rows="T6",
              of=SHIELDED, shield="1 and 2"),
        Claim("Throttled groups of ordinary tasks (cpu.max) interrupt no job", _throttled, most=0,
              rows="T12", paper="III-C: timers of the fair class rank below real-time tasks",
              shield="1"),
        Claim("Next to 100 unsynchronized low-priority tasks the job is not interrupted, its "
              "maximum at most {} µs above that without load", _unaffected("sleepers-100"), most=2,
              rows="T33", paper="Figs 5, 6: Linux a long tail; TimerShield unchanged but for a "
              "negligible shift (cache misses)", shield="2"),
        Claim("The same next to 100 synchronized ones", _unaffected("sync-100"), most=2,
              rows="T34", paper="Figs 7, 8: Linux grows with the number of tasks; TimerShield "
              "unchanged but for a slight shift (cache misses)", shield="2"),
        Claim("The paper's own load, from the job's first instruction on: the maximum at most {} "
              "µs above that without", _unaffected("paper-cyclictest-100", woken=True), most=2,
              rows="T28", paper="Figs 5, 6: from the timer's callback to going to sleep",
              shield="2"),
        Claim("The shield pays from {} synchronized low-priority tasks on (mean response)",
              _pays(True), most=3, rows="T35", paper="Intel, ARM: 3", shield="2"),
        Claim("The shield pays from {} unsynchronized ones on", _pays(False), most=5, rows="T46",
              paper="Intel: 5; ARM: 3", shield="2"),
        Claim("Every maximum within {} µs of the same kernel's without load", _maximum, most=2,
              rows="T41", of=SHIELDED, shield="1 and 2"),
        Claim("Low-priority tasks' median response at most {} ns over stock's", _low_priority,
              most=500, shield="1 and 2"),
        Claim("Every period of every other task is served, none early", _served, most=0,
              rows="T20", of=SHIELDED, shield="1 and 2"),
        bound.CLAIM,
    )
    shown = jobs("none", "sleepers-100", "sync-100", "paper-cyclictest-100")

    def run(self, context: Context) -> None:
        runs.run(context, self.name, LOADS)


EXPERIMENT = ResponseTime()
