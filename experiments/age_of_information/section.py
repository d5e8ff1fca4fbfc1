# SPDX-License-Identifier: GPL-2.0-or-later
"""The age-of-information experiment's goals, claims and part of the report."""

from collections.abc import Callable

from experiments.age_of_information import figures
from experiments.age_of_information.analysis import BASELINE, LIMIT, OURS, Analysis, analyse
from experiments.common.claims import EACH, Claim, Found
from experiments.measure.results import DamagedError, Measured, Store
from experiments.report.page import Figure, Part, Table, Text
from experiments.report.stats import percentile
from lab.errors import LabError

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
WHY = (
    "Why ours differ from the paper's. The next instant is, as in BBR, one interval after the last "
    "send, so an oversleep lengthens every interval: with clock_nanosleep the sender is slower by "
    "one oversleep than it means to be, the rate that it then measures is lower, and it settles, "
    "as probing must gain at least one oversleep, at five oversleeps or more between packets. How "
    "much ClockFix gains therefore depends on the link alone: all where the link is faster than "
    "that, and two oversleeps of an age of two intervals where it is slow. Polling shows what "
    "there is to gain. The paper's Raspberry Pis oversleep more than this machine and are slower "
    "in all else; their Ethernet lets about 300 Mbit/s through. As in the paper ClockFix's "
    "packets may take longer on their way: who fills the link also queues."
)


def _usable(system: Measured) -> dict[str, Analysis]:
    """The links of which enough packets came through in time to say anything."""
    found = {}
    for scenario in system.scenarios:
        try:
            analysis = analyse(system, scenario)
        except DamagedError:
            raise
        except LabError:
            continue
        if all(len(a.age) for a in analysis.ages.values()):
            found[scenario] = analysis
    return found


def _of_the_papers_link(judge: Callable[[Analysis], Found]) -> Callable[[Measured], Found | None]:
    def metric(system: Measured) -> Found | None:
        found = _usable(system).get(LIKE_THE_PAPER)
        return judge(found) if found else None
    return metric


def _age(found: Analysis) -> Found:
    limit = f"; polling: {found.change(LIMIT):+.1%}" if LIMIT in found.ages else ""
    return Found(f"{found.median(OURS) / US:.1f} instead of {found.median(BASELINE) / US:.1f} µs "
                 f"({found.change(OURS):+.1%}){limit}", 1 + found.change(OURS))


def _delivery(found: Analysis) -> Found:
    return Found(f"{found.median(BASELINE, 'delivery') / US:.1f} to "
                 f"{found.median(OURS, 'delivery') / US:.1f} µs")


CLAIMS = (
    Claim("On a link like the paper's the median age of information is at most {:.0%} of "
          "clock_nanosleep's", _of_the_papers_link(_age), most=0.84, of=EACH, rows="C27",
          paper="Fig 9: median lower by more than 16 %"),
    Claim("Packets may take longer on their way with ClockFix, as the sender fills the link",
          _of_the_papers_link(_delivery), of=EACH, rows="C26",
          paper="Fig 9: delivery time slightly longer"),
)


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
        "Medians in µs over all iterations, outliers included; send late: sent after it "
        "was due; CPU time of sender and receiver.", text_columns=2)


def parts(store: Store) -> list[Part]:
    """Figures and tables for every system that has results."""
    result: list[Part] = [Text(HOW), Text(WHY)]
    for system in store:
        place, meta, titles, usable = (system.system.place, system.meta, system.titles,
                                       _usable(system))
        result += [Text(place, heading=True), Text(f"{meta['kernel']}; time: {meta['time']}.")]
        if left := [titles[s] for s in system.scenarios if s not in usable]:
            result.append(Text("Too few packets came through in time to say anything of: "
                               + "; ".join(left) + "."))
        if not usable:
            continue
        rows = [(titles[s], found) for s, found in usable.items()]
        result.append(_table(rows))
        result += [Figure(
            figures.boxes(found.ages, f"aoi-{system.name}-{scenario}", f"{place}, "
                          f"{titles[scenario]}"),
            f"{titles[scenario]}: what the age of information is made of (the paper's Fig 9). "
            f"About {len(found.ages[OURS].age):,} packets each; box: quartiles, whiskers: 1.5 "
            "interquartile ranges; outliers are not drawn, as in the paper, but are counted in the "
            "table.") for scenario, found in usable.items()]
    return result
