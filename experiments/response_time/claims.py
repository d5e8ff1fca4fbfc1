# SPDX-License-Identifier: GPL-2.0-or-later
"""What the shield must show in the response-time experiment, judged from raw samples."""

import math
from collections.abc import Callable, Iterable

import numpy as np

from experiments.bounds import bound
from experiments.common import compare, tables
from experiments.common.claims import SHIELDED, Claim, Found, worst
from experiments.measure.results import Measured
from experiments.report.stats import Summary, percentile, summarize
from experiments.response_time import steps

Responses = dict[str, Summary]


def _responses(system: Measured) -> Responses:
    """Of the jobs that do a fixed amount of work, by scenario."""
    return {s: summarize(system.table(s, "jobs")["response_ns"]) for s in tables.timed(system)}


def _loaded(found: Responses) -> list[str]:
    """Those that can be compared with the same without load."""
    return [s for s in found if not s.endswith("none") and tables.idle(s) in found]


def _interruptions(shielded: Measured) -> Found | None:
    """What the tick does where nothing else runs is not counted."""
    counts = {s: int(shielded.table(s, "jobs")["interruptions"].sum())
              for s in tables.timed(shielded)}
    ticks = counts.pop("phase-none", None)
    for scenario in [s for s in counts if s.startswith("phase-")]:
        if ticks is None:
            del counts[scenario]
        else:
            counts[scenario] = max(counts[scenario] - ticks, 0)
    if not counts:
        return None
    total = sum(counts.values())
    worst = max(counts, key=lambda s: counts[s])
    where = f", most in {worst} ({counts[worst]})" if total else ""
    return Found(f"{total} interruptions in {len(counts)} scenarios{where}", total)


def _median(shielded: Measured) -> Found | None:
    found = _responses(shielded)
    return worst({s: abs(found[s].p50 / found[tables.idle(s)].p50 - 1) for s in _loaded(found)},
                 "at most {:.3%} off")


def _maximum(shielded: Measured) -> Found | None:
    found = _responses(shielded)
    return worst({s: (found[s].maximum - found[tables.idle(s)].maximum) / 1000
                  for s in _loaded(found)}, "at most {:+.2f} µs")


def _at_rest(stock: Measured, shielded: Measured) -> Found | None:
    if not compare.both("none", stock, shielded):
        return None
    a, b = (percentile(s.table("none", "jobs")["response_ns"], 50) for s in (shielded, stock))
    return Found(f"median {a / b - 1:+.3%}", abs(a / b - 1))


def _off(stock: Measured, off: Measured) -> Found | None:
    a, b = _responses(off), _responses(stock)
    return None if off.system.unloads else worst(
        {s: abs(a[s].p50 / b[s].p50 - 1) for s in a if s in b}, "at most {:.3%} off")


def _low_priority(stock: Measured, shielded: Measured) -> Found | None:
    more = {}
    for scenario in tables.timed(shielded):
        if scenario.endswith("none") or not stock.has(scenario):
            continue
        a, b = (s.table(scenario, "releases")["response_ns"] for s in (shielded, stock))
        if len(a) and len(b):
            more[scenario] = percentile(a, 50) - percentile(b, 50)
    return worst(more, "at most {:+,.0f} ns")


def _ratios(stock: Measured, shielded: Measured, of: Callable[[dict[str, float]], float],
            scenarios: Iterable[str]) -> dict[str, float]:
    """Scenario -> what ``of`` makes of the shielded system's summary over stock's."""
    pairs = {s: tuple(of(m.summary(s)) for m in (shielded, stock))
             for s in scenarios if stock.has(s)}
    return {s: a / b for s, (a, b) in pairs.items() if b}


def _spare(stock: Measured, shielded: Measured) -> Found | None:
    found = _ratios(stock, shielded, lambda s: s["spare_rounds"] / s["window_ns"],
                    [s for s in shielded.scenarios if s.startswith("spare-")])
    if not found:
        return None
    name = min(found, key=lambda s: found[s])
    return Found(f"least {found[name]:.4f}, in {name}", found[name])


def _varied(stock: Measured, shielded: Measured) -> Found | None:
    names = ("spare-100", "spare-spread-100")
    found = _ratios(stock, shielded, lambda s: s["spare_rounds"] / s["window_ns"],
                    [s for s in names if shielded.has(s)])
    if len(found) < len(names):
        return None
    one, many = (found[s] for s in names)
    return Found(f"{many:.4f} of stock's, of one priority {one:.4f}", many / one)


def _interrupts(stock: Measured, shielded: Measured) -> Found | None:
    return worst(_ratios(stock, shielded, lambda s: s["timer_interrupts"], shielded.scenarios),
                 "at most {:.3f} times")


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
        for jobs in (system.table(s, "jobs") for s in (tables.idle(scenario), scenario)))
    return load.p50 - idle.p50, load.maximum - idle.maximum


def _unaffected(
    scenario: str, woken: bool = False
) -> Callable[[Measured, Measured], Found | None]:
    """``woken``: from a job's first instruction on, not from its release."""
    def metric(stock: Measured, shielded: Measured) -> Found | None:
        if not all(compare.both(s, stock, shielded) for s in (tables.idle(scenario), scenario)):
            return None
        theirs, ours = (_more(s, scenario, woken) for s in (stock, shielded))
        interrupted = int(shielded.table(scenario, "jobs")["interruptions"].sum())
        counted = "" if scenario.startswith("paper-") else f", {interrupted} interruptions"
        return Found(f"median {ours[0] / 1000:+.2f}, max {ours[1] / 1000:+.2f} µs{counted}; stock "
                     f"{theirs[0] / 1000:+.2f}, {theirs[1] / 1000:+.2f} µs",
                     math.inf if interrupted else ours[1] / 1000)
    return metric


def _pays(synchronized: bool) -> Callable[[Measured, Measured], Found | None]:
    """From how many tasks on the shielded mean is below stock's."""
    def metric(stock: Measured, shielded: Measured) -> Found | None:
        found = steps.measured(synchronized, stock, shielded)
        if len(found) < 2:
            return None
        n = steps.pays_from(stock, shielded, found)
        return Found("never" if n is None else f"from {n} on", math.inf if n is None else n)
    return metric


CLAIMS = (
    Claim("No job is interrupted by a lower-ranking timer", _interruptions, most=0, rows="T12",
          of=SHIELDED, shield="1 and 2"),
    Claim("Next to 100 unsynchronized low-priority tasks the job is not interrupted, its maximum "
          "at most {} µs above that without load", _unaffected("sleepers-100"), most=2, rows="T33",
          paper="Figs 5, 6: Linux a long tail to the right; TimerShield unchanged but for a "
          "negligible shift (cache misses)", shield="2"),
    Claim("The same next to 100 synchronized ones", _unaffected("sync-100"), most=2, rows="T34",
          paper="Figs 7, 8: Linux grows with the number of tasks; TimerShield unchanged but for a "
          "slight shift (cache misses)", shield="2"),
    Claim("The paper's own load, 200 µs of matrix multiplications next to 100 processes of "
          "cyclictest: the maximum at most {} µs above that without load",
          _unaffected("paper-cyclictest-100"), most=2, paper="Figs 5, 6", rows="T27", shield="2"),
    Claim("The same without what comes before a job's first instruction",
          _unaffected("paper-cyclictest-100", woken=True), most=2, rows="T28",
          paper="Figs 5, 6: from the timer's callback to going to sleep", shield="2"),
    Claim("The shield pays from {} synchronized low-priority tasks on (mean response time)",
          _pays(True), most=3, rows="T35", paper="Intel, ARM: 3", shield="2"),
    Claim("The shield pays from {} unsynchronized ones on", _pays(False), most=5, rows="T35",
          paper="Intel: 5; ARM: 3", shield="2"),
    Claim("Every median within {:.1%} of the same kernel's without load", _median, most=0.005,
          of=SHIELDED, shield="1 and 2"),
    Claim("Every maximum within {} µs of the same kernel's without load", _maximum, most=2,
          rows="T41", of=SHIELDED, shield="1 and 2"),
    Claim("Without load within {:.1%} of stock", _at_rest, most=0.001, shield="1"),
    Claim("Switched off, every median within {:.1%} of stock's", _off, most=0.002,
          of=("stock", "off")),
    Claim("Low-priority tasks' median response at most {} ns over stock's", _low_priority,
          most=500, shield="1 and 2"),
    Claim("100 sleepers of 90 priorities cost no more spare throughput than of one", _varied,
          least=1, paper="IV-B: more varied priorities, even lower overhead", rows="T42",
          shield="2"),
    Claim("Spare throughput at least {} of stock's", _spare, least=0.98, shield="2"),
    Claim("Every period of every other task is served, none early", _served, most=0, rows="T20",
          of=SHIELDED, shield="1 and 2"),
    Claim("At most {} times the timer interrupts of stock", _interrupts, most=1.005,
          shield="1 and 2"),
    bound.CLAIM,
)
