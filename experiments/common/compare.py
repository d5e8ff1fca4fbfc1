# SPDX-License-Identifier: GPL-2.0-or-later
"""Words and figures that compare stock with shielded, platform by platform."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from experiments.measure.results import Measured, Store
from experiments.report import plots
from experiments.report.page import Figure, Part, Text
from experiments.report.stats import Samples
from lab.kernels.platforms import Mode

WHY_GUEST = (
    "Why ours differ from the paper's: the paper measured a 3.2 GHz Intel Core i5 and a Raspberry "
    "Pi 3 under Linux 4.6 and 4.4 with PREEMPT_RT. Guest figures are under "
    "instruction-counted time: one instruction takes one nanosecond on one virtual CPU. There are "
    "no cache misses and no cost of taking an interrupt in hardware, so interference is "
    "understated and overhead that comes from caches is not seen; in return the same run gives the "
    "same samples, and a difference of one instruction is a difference."
)


Modes = dict[str, Measured]
"""Results of one platform by mode."""


def platforms(store: Store) -> dict[str, Modes]:
    """The results of each platform; the module is a shielded mode."""
    found: dict[str, Modes] = {}
    for measured in store:
        system = measured.system
        mode = Mode.SHIELDED if system.mode is Mode.MODULE else system.mode
        found.setdefault(system.place, {})[mode] = measured
    return found


def by_platform(store: Store, shown: Callable[[str, Modes], Iterable[Part]]) -> list[Part]:
    """A heading for each platform, and what is shown of its results."""
    return [part for platform, modes in platforms(store).items()
            for part in (Text(platform, heading=True), *shown(platform, modes))]


def having(modes: Modes, scenario: str,
           shown: Sequence[str] = ("stock", "shielded")) -> Iterator[tuple[str, Measured]]:
    """Those of ``shown`` that have samples of ``scenario``, by mode."""
    for mode in shown:
        system = modes.get(mode)
        if system and system.has(scenario):
            yield mode, system


def both(scenario: str, *systems: Measured) -> bool:
    """Whether all of ``systems`` have samples of ``scenario``."""
    return all(s.has(scenario) for s in systems)


Case = tuple[str, str, Callable[[Measured], Samples]]
"""What a group of candlesticks is called, its scenario, and a system's samples of it."""


def candlesticks(
    modes: Modes, shown: Sequence[str], cases: Iterable[Case],
    unit: str, prefix: str, caption: str,
) -> list[Figure]:
    """A group for each case, a stick for each of the modes ``shown`` that has samples.

    ``{least}`` in the caption becomes the least number of samples of a stick. Without any
    samples there is no figure.
    """
    groups: dict[str, list[plots.Candle]] = {}
    for word, scenario, samples_of in cases:
        sticks = [plots.Candle(mode, samples) for mode, system in having(modes, scenario, shown)
                  if len(samples := samples_of(system))]
        if sticks:
            groups[word] = sticks
    if not groups:
        return []
    place = next(iter(modes.values())).system.place
    least = min(len(c.samples) for sticks in groups.values() for c in sticks)
    return [Figure(plots.candles(groups, unit, prefix, place), caption.format(least=f"{least:,}"))]
