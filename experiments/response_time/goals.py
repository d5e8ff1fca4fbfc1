# SPDX-License-Identifier: GPL-2.0-or-later
"""What the shield must show in the response-time experiment, judged from raw samples."""

from collections.abc import Iterator

import numpy as np

from experiments.common import compare
from experiments.response_loop import tables
from lab.measure.results import Measured, Store
from lab.report.claims import Goal
from lab.report.stats import percentile, summarize

MEDIAN_SHARE = 0.005
MAXIMUM_NS = 2000
IDLE_SHARE = 0.001
OFF_SHARE = 0.002
LOW_PRIORITY_NS = 500
SPARE_SHARE = 0.98


def _both(a: Measured, b: Measured) -> list[str]:
    return [s for s in a.scenarios if b.has(s)]


def _idle(system: Measured) -> str | None:
    return "none" if system.has("none") else None


def _interruptions(platform: str, modes: compare.Modes) -> Iterator[Goal]:
    system = modes["shielded"]
    scenarios = tables.timed(system)
    if not scenarios:
        return
    total = 0
    worst = ("", 0)
    for scenario in scenarios:
        count = int(system.table(scenario, "jobs")["interruptions"].sum())
        total += count
        if count > worst[1]:
            worst = (scenario, count)
    where = f", most in {worst[0]} ({worst[1]})" if total else ""
    yield Goal(
        f"{platform}: no job is interrupted by a lower-ranking timer",
        f"{total} interruptions in {len(scenarios)} scenarios{where}",
        total == 0,
    )


def _response(platform: str, modes: compare.Modes) -> Iterator[Goal]:
    system = modes["shielded"]
    if _idle(system) is None:
        return
    idle = summarize(system.table("none", "jobs")["response_ns"])
    loaded = {
        s: summarize(system.table(s, "jobs")["response_ns"])
        for s in tables.timed(system) if s != "none"
    }
    if not loaded:
        return
    name, found = max(loaded.items(), key=lambda item: abs(item[1].p50 / idle.p50 - 1))
    share = found.p50 / idle.p50 - 1
    yield Goal(
        f"{platform}: median within {MEDIAN_SHARE:.1%} of the same kernel's without load",
        f"largest difference {share:+.3%}, in {name}",
        abs(share) <= MEDIAN_SHARE,
    )
    name, found = max(loaded.items(), key=lambda item: item[1].maximum)
    more = found.maximum - idle.maximum
    yield Goal(
        f"{platform}: maximum within {MAXIMUM_NS / 1000:g} µs of the same kernel's without load",
        f"largest difference {more / 1000:+.2f} µs, in {name}",
        more <= MAXIMUM_NS,
    )


def _cost(platform: str, modes: compare.Modes) -> Iterator[Goal]:
    stock = modes.get("stock")
    if stock is None:
        return
    shielded = modes["shielded"]
    if _idle(shielded) and _idle(stock):
        a, b = (percentile(s.table("none", "jobs")["response_ns"], 50)
                for s in (shielded, stock))
        yield Goal(
            f"{platform}: without load within {IDLE_SHARE:.1%} of stock",
            f"median {a / b - 1:+.3%}",
            abs(a / b - 1) <= IDLE_SHARE,
        )
    off = modes.get("off")
    if off is None or off.system.unloads:
        return
    shares = {}
    for scenario in tables.timed(off):
        if stock.has(scenario):
            a, b = (percentile(s.table(scenario, "jobs")["response_ns"], 50)
                    for s in (off, stock))
            shares[scenario] = a / b - 1
    if not shares:
        return
    name = max(shares, key=lambda s: abs(shares[s]))
    yield Goal(
        f"{platform}: switched off, within {OFF_SHARE:.1%} of stock in every scenario",
        f"largest difference of medians {shares[name]:+.3%}, in {name}",
        abs(shares[name]) <= OFF_SHARE,
    )


def _low_priority(platform: str, modes: compare.Modes) -> Iterator[Goal]:
    stock, shielded = modes.get("stock"), modes["shielded"]
    if stock is None:
        return
    more = {}
    for scenario in tables.timed(shielded):
        if scenario == "none" or not stock.has(scenario):
            continue
        a, b = (s.table(scenario, "releases")["response_ns"] for s in (shielded, stock))
        if len(a) and len(b):
            more[scenario] = percentile(a, 50) - percentile(b, 50)
    if not more:
        return
    name = max(more, key=lambda s: more[s])
    yield Goal(
        f"{platform}: low-priority tasks' median response at most {LOW_PRIORITY_NS} ns "
        "over stock's",
        f"largest difference {more[name]:+.0f} ns, in {name}",
        more[name] <= LOW_PRIORITY_NS,
    )


def _spare(platform: str, modes: compare.Modes) -> Iterator[Goal]:
    stock, shielded = modes.get("stock"), modes["shielded"]
    if stock is None:
        return
    shares = {}
    for scenario in _both(shielded, stock):
        if scenario.startswith("spare-"):
            a, b = (s.summary(scenario) for s in (shielded, stock))
            shares[scenario] = (a["spare_rounds"] / a["window_ns"]) / (
                b["spare_rounds"] / b["window_ns"]
            )
    if shares:
        name = min(shares, key=lambda s: shares[s])
        yield Goal(
            f"{platform}: spare throughput at least {SPARE_SHARE:g} of stock's",
            f"least {shares[name]:.4f}, in {name}",
            shares[name] >= SPARE_SHARE,
        )


def _served(platform: str, modes: compare.Modes) -> Iterator[Goal]:
    system = modes["shielded"]
    expected = served = early = 0
    for scenario in system.scenarios:
        if scenario.endswith("none"):
            continue
        tasks = system.table(scenario, "tasks")
        expected += int(tasks["expected"].sum())
        served += int(np.minimum(tasks["served"], tasks["expected"]).sum())
        early += int(tasks["early"].sum())
    if expected:
        yield Goal(
            f"{platform}: every period of every other task is served, none early",
            f"{served:,} of {expected:,} served, {early} early",
            served == expected and early == 0,
        )


def _interrupts(platform: str, modes: compare.Modes) -> Iterator[Goal]:
    stock, shielded = modes.get("stock"), modes["shielded"]
    if stock is None:
        return
    more = {}
    for scenario in _both(shielded, stock):
        a, b = (s.summary(scenario)["timer_interrupts"] for s in (shielded, stock))
        if b:
            more[scenario] = a / b
    if more:
        name = max(more, key=lambda s: more[s])
        yield Goal(
            f"{platform}: no additional timer interrupts",
            f"at most {more[name]:.3f} times stock's, in {name}",
            more[name] <= 1.005,
        )


def goals(store: Store) -> list[Goal]:
    """All goals that the results at hand allow to judge."""
    found: list[Goal] = []
    for platform, modes in compare.platforms(store).items():
        if "shielded" in modes:
            for judge in (_interruptions, _response, _cost, _low_priority, _spare, _served,
                          _interrupts):
                found += judge(platform, modes)
    return found
