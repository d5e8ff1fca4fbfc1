# SPDX-License-Identifier: GPL-2.0-or-later
"""The age-of-information experiment's goals, claims and part of the report."""

from collections.abc import Iterator

from experiments.age_of_information import figures
from experiments.age_of_information.analysis import BASELINE, LIMIT, OURS, Analysis, analyse
from experiments.report.claims import Claim
from experiments.report.page import Figure, Part, Table, Text
from experiments.report.stats import percentile
from lab.errors import LabError
from lab.measure.results import DamagedError, Measured, Store

LESS = 0.16
"""How much lower the median age is to be with ClockFix."""
DRIFT_PPM = 10.0
"""A quarter of the drift that is put in."""
LIKE_THE_PAPER = "300-mbit"
US = 1000.0

HOW = (
    "A sender sends samples of 1,172 bytes as datagrams, as fast as the bottleneck that it "
    "measures lets them through: each packet one interval after the last was sent, one round in "
    "eight faster by a quarter to probe for more. That is BBR's way, but without PROBE_RTT: the "
    "least round-trip time is kept for the whole run. The receiver "
    "takes each sample when the arrivals before let it expect the next. Nothing is sent again: a "
    "sample that is lost, or late by more than its deadline, is signalled to the application. "
    "Both wait for their instants by clock_nanosleep, by ClockFix, or, as the limit of what "
    "timing can give, by polling; iteration by iteration they take turns. The greatest age of "
    "information is the time between two sends, plus the delivery, plus the time between two "
    "receptions (the paper's Fig 1)."
)
CLOCKS = (
    "The two nodes are namespaces of one machine, so their clocks would agree. To test the "
    "paper's correction the receiver's clock is made to differ by a known offset and drift; what "
    "is found from the packets alone is compared with the truth. The offset's error is half of "
    "what the fastest packets' ways differ in the two directions, and is contained in every "
    "delivery time."
)
WHY = (
    "Why ours differ from the paper's. The next instant is, as in BBR, one interval after the last "
    "send, so an oversleep lengthens every interval: with clock_nanosleep the sender is slower by "
    "one oversleep than it means to be, the rate that it then measures is lower, and it settles, "
    "as probing must gain at least one oversleep, at five oversleeps or more between packets. How "
    "much ClockFix gains therefore depends on the link alone: all where the link is faster than "
    "that, and two oversleeps of an age of two intervals where it is slow. Polling shows what "
    "there is to gain. The paper's Raspberry Pis oversleep more than this machine and are slower "
    "in all else; their Ethernet lets about 300 Mbit/s through. As in the paper ClockFix's "
    "packets may take longer on their way: who fills the link also queues. Where sends follow a "
    "fixed schedule instead, oversleep costs no rate, only jitter, and little is left to gain."
)


def _scenarios(store: Store) -> Iterator[tuple[Measured, str, str, Analysis]]:
    for system in store:
        titles = system.titles
        for scenario in system.scenarios:
            try:
                found = analyse(system, scenario)
            except DamagedError:
                raise
            except LabError:
                continue
            if all(len(a.age) for a in found.ages.values()):
                yield system, scenario, titles[scenario], found


def _unusable(store: Store) -> list[str]:
    """Links of which too few packets came through in time to say anything."""
    usable = {(system, scenario) for system, scenario, *_ in _scenarios(store)}
    return [f"{system.system.place}, {system.titles[scenario]}"
            for system in store for scenario in system.scenarios
            if (system, scenario) not in usable]


def _found(found: Analysis) -> str:
    text = (f"{found.median(OURS) / US:.1f} instead of {found.median(BASELINE) / US:.1f} µs "
            f"({found.change(OURS):+.1%})")
    if LIMIT in found.ages:
        text += f"; polling: {found.change(LIMIT):+.1%}"
    return text


def claims(store: Store) -> list[Claim]:
    """The paper's figures, for every link that was measured."""
    result = []
    for system, scenario, title, found in _scenarios(store):
        where = f"{system.system.place}, {title}"
        result += [
            Claim(f"ClockFix lowers the age of information by {LESS:.0%} on a link like the "
                  "paper's", where, _found(found),
                  found.change(OURS) <= -LESS if scenario == LIKE_THE_PAPER else None,
                  "Fig 9: median lower by more than 16 %"),
            Claim("Packets may take longer on their way with ClockFix, as the sender fills the "
                  "link", where, f"{found.median(BASELINE, 'delivery') / US:.1f} to "
                  f"{found.median(OURS, 'delivery') / US:.1f} µs", None,
                  "Fig 9: delivery time slightly longer"),
            Claim(f"Drift and offset of two clocks are found from the packets: the drift within "
                  f"{DRIFT_PPM:g} ppm, the offset within the fastest packet's way", where,
                  f"{found.drift_error * 1e6:+.2f} ppm; {found.offset_error / US:+.1f} µs, fastest "
                  f"packet {found.fastest() / US:.1f} µs",
                  abs(found.drift_error) * 1e6 <= DRIFT_PPM
                  and abs(found.offset_error) <= found.fastest(),
                  "Fig 8; error not known"),
        ]
    return result


def _table(rows: list[tuple[str, Analysis]]) -> Table:
    cells = []
    for title, found in rows:
        for timing, ages in found.ages.items():
            if not len(ages.age):
                continue
            cells.append([
                title, figures.NAMES[timing],
                *(f"{found.median(timing, part) / US:.1f}" for part, _ in figures.PARTS),
                f"{percentile(ages.age, 5) / US:.1f}–{percentile(ages.age, 95) / US:.1f}",
                f"{ages.age.max() / US:,.0f}",
                "" if timing == BASELINE else f"{found.change(timing):+.1%}",
                f"{percentile(ages.lateness, 50) / US:.2f}",
                f"{ages.lost:,} of {ages.packets:,}",
                f"{found.cpu_share(timing, 'sender'):.0%} + "
                f"{found.cpu_share(timing, 'receiver'):.0%}",
            ])
            title = ""
    return Table(
        ["link", "timing", "IST", "PDT", "IRT", "age", "5–95 %", "max", "age, change", "send late",
         "lost", "CPU"], cells,
        "Medians in µs over all forward iterations, outliers included; send late: sent after it "
        "was due; CPU time of sender and receiver.", text_columns=2)


def _clock_table(rows: list[tuple[str, Analysis]]) -> Table:
    return Table(
        ["link", "drift found, ppm", "error, ppm", "offset's error, µs"],
        [[title, f"{found.clock.drift * 1e6:.3f}", f"{found.drift_error * 1e6:+.3f}",
          f"{found.offset_error / US:+.2f}"] for title, found in rows],
        "What the correction found, and how far it is from the truth.")


def parts(store: Store) -> list[Part]:
    """Figures and tables for the host and every guest that has results."""
    result: list[Part] = [Text(HOW), Text(WHY)]
    unusable = _unusable(store)
    if unusable:
        result.append(Text("Too few packets came through in time to say anything of: "
                                 + "; ".join(unusable) + "."))
    by_system: dict[Measured, list[tuple[str, str, Analysis]]] = {}
    for system, scenario, name, found in _scenarios(store):
        by_system.setdefault(system, []).append((scenario, name, found))
    for system, rows in by_system.items():
        meta = system.meta
        result.append(Text(system.system.place, heading=True))
        result.append(Text(f"{meta['kernel']}; time: {meta['time']}."))
        result.append(_table([(name, found) for _, name, found in rows]))
        for scenario, name, found in rows:
            count = len(found.ages[OURS].age)
            result.append(Figure(
                figures.boxes(found.ages, f"aoi-{system.name}-{scenario}",
                              f"{system.system.place}, {name}"),
                f"{name}: what the age of information is made of (the paper's Fig 9). About "
                f"{count:,} packets each; box: quartiles, whiskers: 1.5 interquartile ranges; "
                "outliers are not drawn, as in the paper, but are counted in the table."))
        result.append(Text(CLOCKS))
        scenario, name, found = next((r for r in rows if r[0] == LIKE_THE_PAPER), rows[0])
        result.append(Figure(
            figures.drift(found.packets, found.iterations, list(found.ages), found.clock,
                          f"drift-{system.name}-{scenario}", f"{system.system.place}, {name}"),
            f"{name}: delivery times before and after correction (the paper's Fig 8). A point: the "
            "median of a sixtieth of the packets."))
        result.append(_clock_table([(name, found) for _, name, found in rows]))
    return result
