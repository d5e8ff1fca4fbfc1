# SPDX-License-Identifier: GPL-2.0-or-later
"""What the shield must show in the response-time experiment, judged from raw samples."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from experiments.common import compare
from experiments.report.claims import Claim
from experiments.report.stats import Summary, percentile, summarize
from experiments.response_loop import bound, tables
from experiments.response_time import steps
from lab.measure.results import Measured, Store

MEDIAN_SHARE = 0.005
MAXIMUM_NS = 2000
IDLE_SHARE = 0.001
OFF_SHARE = 0.002
LOW_PRIORITY_NS = 500
SPARE_SHARE = 0.98
INTERRUPTS = 1.005
PAYS_FROM = {True: 3, False: 5}
"""Synchronized, and not: the paper's, on Intel."""
Responses = dict[str, Summary]


def _responses(system: Measured) -> Responses:
    """Of the jobs that do a fixed amount of work, by scenario."""
    return {s: summarize(system.table(s, "jobs")["response_ns"]) for s in tables.timed(system)}


def _loaded(found: Responses) -> list[str]:
    """Those that can be compared with the same without load."""
    return [s for s in found if not s.endswith("none") and tables.idle(s) in found]


def _worst(values: dict[str, float], words: str, bound: float) -> compare.Found:
    """The largest of ``values``, which are not to be above ``bound``."""
    if not values:
        return None
    name = max(values, key=lambda s: values[s])
    return f"{words.format(values[name])}, in {name}", values[name] <= bound


def _interruptions(shielded: Measured) -> compare.Found:
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
    return f"{total} interruptions in {len(counts)} scenarios{where}", total == 0


def _median(shielded: Measured) -> compare.Found:
    found = _responses(shielded)
    return _worst({s: abs(found[s].p50 / found[tables.idle(s)].p50 - 1) for s in _loaded(found)},
                  "at most {:.3%} off", MEDIAN_SHARE)


def _maximum(shielded: Measured) -> compare.Found:
    found = _responses(shielded)
    return _worst({s: found[s].maximum - found[tables.idle(s)].maximum for s in _loaded(found)},
                  "at most {:+.0f} ns", MAXIMUM_NS)


def _at_rest(stock: Measured, shielded: Measured) -> compare.Found:
    if not compare.both("none", stock, shielded):
        return None
    a, b = (percentile(s.table("none", "jobs")["response_ns"], 50) for s in (shielded, stock))
    return f"median {a / b - 1:+.3%}", abs(a / b - 1) <= IDLE_SHARE


def _off(stock: Measured, off: Measured) -> compare.Found:
    if off.system.unloads:
        return None
    a, b = _responses(off), _responses(stock)
    shares = {s: a[s].p50 / b[s].p50 - 1 for s in a if s in b}
    if not shares:
        return None
    name = max(shares, key=lambda s: abs(shares[s]))
    return f"at most {shares[name]:+.3%}, in {name}", abs(shares[name]) <= OFF_SHARE


def _low_priority(stock: Measured, shielded: Measured) -> compare.Found:
    more = {}
    for scenario in tables.timed(shielded):
        if scenario.endswith("none") or not stock.has(scenario):
            continue
        a, b = (s.table(scenario, "releases")["response_ns"] for s in (shielded, stock))
        if len(a) and len(b):
            more[scenario] = percentile(a, 50) - percentile(b, 50)
    return _worst(more, "at most {:+.0f} ns", LOW_PRIORITY_NS)


def _ratios(stock: Measured, shielded: Measured, of: Callable[[dict[str, float]], float],
            scenarios: Iterable[str]) -> dict[str, float]:
    """Scenario -> what ``of`` makes of the shielded system's summary over stock's."""
    pairs = {s: tuple(of(m.summary(s)) for m in (shielded, stock))
             for s in scenarios if stock.has(s)}
    return {s: a / b for s, (a, b) in pairs.items() if b}


def _spare(stock: Measured, shielded: Measured) -> compare.Found:
    found = _ratios(stock, shielded, lambda s: s["spare_rounds"] / s["window_ns"],
                    [s for s in shielded.scenarios if s.startswith("spare-")])
    if not found:
        return None
    name = min(found, key=lambda s: found[s])
    return f"least {found[name]:.4f}, in {name}", found[name] >= SPARE_SHARE


def _varied(stock: Measured, shielded: Measured) -> compare.Found:
    names = ("spare-100", "spare-spread-100")
    found = _ratios(stock, shielded, lambda s: s["spare_rounds"] / s["window_ns"],
                    [s for s in names if shielded.has(s)])
    if len(found) < len(names):
        return None
    one, many = (found[s] for s in names)
    return f"{many:.4f} of stock's, of one priority {one:.4f}", many >= one


def _interrupts(stock: Measured, shielded: Measured) -> compare.Found:
    return _worst(_ratios(stock, shielded, lambda s: s["timer_interrupts"], shielded.scenarios),
                  "at most {:.3f} times", INTERRUPTS)


def _served(shielded: Measured) -> compare.Found:
    expected = served = early = 0
    for scenario in shielded.scenarios:
        if scenario.endswith("none"):
            continue
        tasks = shielded.table(scenario, "tasks")
        expected += int(tasks["expected"].sum())
        served += int(np.minimum(tasks["served"], tasks["expected"]).sum())
        early += int(tasks["early"].sum())
    return (f"{served:,} of {expected:,} served, {early} early",
            served == expected and early == 0) if expected else None


def _more(system: Measured, scenario: str, woken: bool) -> tuple[float, float]:
    """Median and maximum over those without load, ns."""
    idle, load = (
        summarize(jobs["response_ns"] - (jobs["latency_ns"] if woken else 0))
        for jobs in (system.table(s, "jobs") for s in (tables.idle(scenario), scenario)))
    return load.p50 - idle.p50, load.maximum - idle.maximum


def _unaffected(
    scenario: str, woken: bool = False
) -> Callable[[Measured, Measured], compare.Found]:
    """``woken``: from a job's first instruction on, not from its release."""
    def judge(stock: Measured, shielded: Measured) -> compare.Found:
        if not all(compare.both(s, stock, shielded) for s in (tables.idle(scenario), scenario)):
            return None
        theirs, ours = (_more(s, scenario, woken) for s in (stock, shielded))
        words = [f"median {median / 1000:+.2f} µs, max {maximum / 1000:+.2f} µs"
                 for median, maximum in (theirs, ours)]
        interrupted = int(shielded.table(scenario, "jobs")["interruptions"].sum())
        counted = "" if scenario.startswith("paper-") else f", {interrupted} interruptions"
        return (f"stock {words[0]}; shielded {words[1]}{counted}",
                interrupted == 0 and ours[1] <= MAXIMUM_NS)
    return judge


def claims(store: Store, numbers: Sequence[int]) -> list[Claim]:
    """Figs 5 to 8, and what else must be shown; ``numbers`` of tasks are the steps."""
    def pays(stock: Measured, shielded: Measured) -> compare.Found:
        parts = []
        good = True
        for synchronized, word in ((True, "synchronized"), (False, "unsynchronized")):
            scenarios = steps.step_scenarios(synchronized, numbers)
            if sum(compare.both(s, stock, shielded) for s in scenarios.values()) > 1:
                n = steps.pays_from(stock, shielded, scenarios)
                good &= n is not None and n <= PAYS_FROM[synchronized]
                parts.append(f"{word} {'never' if n is None else n}")
        return ("; ".join(parts), good) if parts else None

    ours = ("shielded",)
    return [
        *compare.claims(store, "No job is interrupted by a lower-ranking timer", _interruptions,
                        of=ours),
        *compare.claims(
            store, "Next to 100 unsynchronized low-priority tasks the job is not interrupted, its "
            f"maximum at most {MAXIMUM_NS / 1000:g} µs above that without load",
            _unaffected("sleepers-100"), "Figs 5, 6: Linux a long tail to the right; TimerShield "
            "unchanged but for a negligible shift (cache misses)"),
        *compare.claims(
            store, "The same next to 100 synchronized ones", _unaffected("sync-100"),
            "Figs 7, 8: Linux grows with the number of tasks; TimerShield unchanged but for a "
            "slight shift (cache misses)"),
        *compare.claims(
            store, "The paper's own load, 200 µs of matrix multiplications next to 100 processes "
            f"of cyclictest: the maximum at most {MAXIMUM_NS / 1000:g} µs above that without load",
            _unaffected("paper-cyclictest-100"), "Figs 5, 6"),
        *compare.claims(
            store, "The same without what comes before a job's first instruction",
            _unaffected("paper-cyclictest-100", woken=True), "Figs 5, 6: from the timer's callback "
            "to going to sleep"),
        *compare.claims(
            store, f"The shield pays from {PAYS_FROM[True]} synchronized and {PAYS_FROM[False]} "
            "unsynchronized low-priority tasks on (mean response time)", pays,
            "Intel: synchronized 3, unsynchronized 5; ARM: 3, 3"),
        *compare.claims(store, f"Every median within {MEDIAN_SHARE:.1%} of the same kernel's "
                        "without load", _median, of=ours),
        *compare.claims(store, f"Every maximum within {MAXIMUM_NS / 1000:g} µs of the same "
                        "kernel's without load", _maximum, of=ours),
        *compare.claims(store, f"Without load within {IDLE_SHARE:.1%} of stock", _at_rest),
        *compare.claims(store, f"Switched off, every median within {OFF_SHARE:.1%} of stock's",
                        _off, of=("stock", "off")),
        *compare.claims(store, "Low-priority tasks' median response at most "
                        f"{LOW_PRIORITY_NS} ns over stock's", _low_priority),
        *compare.claims(store, "100 sleepers of 90 priorities cost no more spare throughput than "
                        "of one", _varied, "IV-B: more varied priorities, even lower overhead"),
        *compare.claims(store, f"Spare throughput at least {SPARE_SHARE:g} of stock's", _spare),
        *compare.claims(store, "Every period of every other task is served, none early", _served,
                        of=ours),
        *compare.claims(store, "No more timer interrupts than on stock", _interrupts),
        *bound.claims(store),
    ]
