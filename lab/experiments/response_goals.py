# SPDX-License-Identifier: GPL-2.0-or-later
"""What the shield must show in the response-time experiment, judged from raw samples."""

from collections.abc import Iterator

import numpy as np

from lab.experiments.base import Goal
from lab.results import Store
from lab.stats import percentile, summarize
from lab.systems import MODES

MEDIAN_SHARE = 0.005
MAXIMUM_NS = 2000
STOCK_SHARE = 0.002
LOW_PRIORITY_NS = 500
SPARE_SHARE = 0.99


def platforms(store: Store) -> dict[str, dict[str, str]]:
    """platform -> mode -> system name, of what has results."""
    found: dict[str, dict[str, str]] = {}
    for system in store.systems():
        for mode in MODES:
            if system.endswith(f"-{mode}"):
                found.setdefault(system.removesuffix(f"-{mode}"), {})[mode] = system
    return found


def timed(store: Store, system: str) -> list[str]:
    """Scenarios whose jobs do a fixed amount of work."""
    return [s for s in store.scenarios(system) if not s.startswith(("matrix-", "spare-"))]


def _both(store: Store, a: str, b: str) -> list[str]:
    return [s for s in store.scenarios(a) if store.has(b, s)]


def _idle(store: Store, system: str) -> str | None:
    return "none" if store.has(system, "none") else None


def _interruptions(store: Store, platform: str, modes: dict[str, str]) -> Iterator[Goal]:
    system = modes["shielded"]
    scenarios = timed(store, system)
    if not scenarios:
        return
    total = 0
    worst = ("", 0)
    for scenario in scenarios:
        count = int(store.table(system, scenario, "jobs")["interruptions"].sum())
        total += count
        if count > worst[1]:
            worst = (scenario, count)
    where = f", most in {worst[0]} ({worst[1]})" if total else ""
    yield Goal(
        f"{platform}: no job is interrupted by a lower-ranking timer",
        f"{total} interruptions in {len(scenarios)} scenarios{where}",
        total == 0,
    )


def _response(store: Store, platform: str, modes: dict[str, str]) -> Iterator[Goal]:
    system = modes["shielded"]
    if _idle(store, system) is None:
        return
    idle = summarize(store.table(system, "none", "jobs")["response_ns"])
    loaded = {
        s: summarize(store.table(system, s, "jobs")["response_ns"])
        for s in timed(store, system) if s != "none"
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


def _cost(store: Store, platform: str, modes: dict[str, str]) -> Iterator[Goal]:
    stock = modes.get("stock")
    if stock is None:
        return
    shielded = modes["shielded"]
    if _idle(store, shielded) and _idle(store, stock):
        a, b = (percentile(store.table(s, "none", "jobs")["response_ns"], 50)
                for s in (shielded, stock))
        yield Goal(
            f"{platform}: without load within {STOCK_SHARE:.1%} of stock",
            f"median {a / b - 1:+.3%}",
            abs(a / b - 1) <= STOCK_SHARE,
        )
    off = modes.get("off")
    if off is None:
        return
    shares = {}
    for scenario in timed(store, off):
        if store.has(stock, scenario):
            a, b = (percentile(store.table(s, scenario, "jobs")["response_ns"], 50)
                    for s in (off, stock))
            shares[scenario] = a / b - 1
    if not shares:
        return
    name = max(shares, key=lambda s: abs(shares[s]))
    yield Goal(
        f"{platform}: switched off, within {STOCK_SHARE:.1%} of stock in every scenario",
        f"largest difference of medians {shares[name]:+.3%}, in {name}",
        abs(shares[name]) <= STOCK_SHARE,
    )


def _low_priority(store: Store, platform: str, modes: dict[str, str]) -> Iterator[Goal]:
    stock, shielded = modes.get("stock"), modes["shielded"]
    if stock is None:
        return
    more = {}
    for scenario in timed(store, shielded):
        if scenario == "none" or not store.has(stock, scenario):
            continue
        a, b = (store.table(s, scenario, "releases")["response_ns"] for s in (shielded, stock))
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


def _spare(store: Store, platform: str, modes: dict[str, str]) -> Iterator[Goal]:
    stock, shielded = modes.get("stock"), modes["shielded"]
    if stock is None:
        return
    shares = {}
    for scenario in _both(store, shielded, stock):
        if scenario.startswith("spare-"):
            a, b = (store.summary(s, scenario) for s in (shielded, stock))
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


def _served(store: Store, platform: str, modes: dict[str, str]) -> Iterator[Goal]:
    system = modes["shielded"]
    expected = served = early = 0
    for scenario in store.scenarios(system):
        if scenario.endswith("none"):
            continue
        tasks = store.table(system, scenario, "tasks")
        expected += int(tasks["expected"].sum())
        served += int(np.minimum(tasks["served"], tasks["expected"]).sum())
        early += int(tasks["early"].sum())
    if expected:
        yield Goal(
            f"{platform}: every period of every other task is served, none early",
            f"{served:,} of {expected:,} served, {early} early",
            served == expected and early == 0,
        )


def _interrupts(store: Store, platform: str, modes: dict[str, str]) -> Iterator[Goal]:
    stock, shielded = modes.get("stock"), modes["shielded"]
    if stock is None:
        return
    more = {}
    for scenario in _both(store, shielded, stock):
        a, b = (store.summary(s, scenario)["timer_interrupts"] for s in (shielded, stock))
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
    for platform, modes in platforms(store).items():
        if "shielded" in modes:
            for judge in (_interruptions, _response, _cost, _low_priority, _spare, _served,
                          _interrupts):
                found += judge(store, platform, modes)
    return found
