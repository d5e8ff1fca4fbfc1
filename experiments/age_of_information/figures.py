# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's Figs 8 and 9: what the clocks did, and what the age of information is made of."""

import matplotlib.pyplot as plt
import numpy as np

from experiments.age_of_information.clocks import Correction, fit_drift
from experiments.age_of_information.packets import Ages, seeming
from experiments.report.plots import COLOURS, MARKERS, to_svg
from lab.measure.results import Table

FACES = {"nanosleep": "#bbbbbb", "clockfix": "#0072b2", "poll": "#ffffff"}
NAMES = {"nanosleep": "clock_nanosleep", "clockfix": "ClockFix", "poll": "polling"}
PARTS = (
    ("inter_send", "between sends (IST)"),
    ("delivery", "delivery (PDT)"),
    ("inter_receive", "between receptions (IRT)"),
    ("age", "age of information (sum)"),
)
US = 1000.0


def boxes(ages: dict[str, Ages], prefix: str, where: str) -> str:
    """Box plots, quartiles and 1.5 interquartile ranges; outliers are left out as in the paper."""
    figure, panels = plt.subplots(1, 4, figsize=(9, 2.9), layout="constrained", sharey=True)
    for panel, (part, title) in zip(panels, PARTS, strict=True):
        drawn = panel.boxplot(
            [getattr(a, part) / US for a in ages.values()], showfliers=False, widths=0.55,
            patch_artist=True, medianprops={"color": "#d55e00", "linewidth": 1.6},
        )
        for box, timing in zip(drawn["boxes"], ages, strict=True):
            box.set_facecolor(FACES[timing])
        panel.set_xticks(range(1, len(ages) + 1), [NAMES[t] for t in ages], fontsize=6.5,
                         rotation=20)
        panel.set_title(title, fontsize=8)
        panel.grid(axis="x", visible=False)
    panels[0].set_ylim(bottom=0)  # shared: only once all are drawn, for it ends the scaling
    panels[0].set_ylabel("µs")
    return to_svg(figure, prefix, where)


def drift(packets: Table, iterations: Table, names: list[str], clock: Correction,
          prefix: str, where: str) -> str:
    """Seeming delivery times, iteration by iteration, and the parallel lines through them."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
    lines = fit_drift([seeming(packets, iterations, t) for t in names])
    for i, timing in enumerate(names):
        date, took = seeming(packets, iterations, timing)
        order = np.argsort(date)
        date, took = date[order], took[order]
        base = clock.offset
        chunks = np.array_split(np.arange(len(date)), min(60, len(date)))
        x = np.array([np.median(date[c]) for c in chunks]) / 1e9
        y = np.array([np.median(took[c] - base) for c in chunks]) / US
        z = np.array([np.median(took[c] - clock.ahead(date[c])) for c in chunks]) / US
        style = {"color": COLOURS[i], "marker": MARKERS[i], "markersize": 3, "linestyle": ""}
        left.plot(x, y, label=NAMES[timing], **style)
        right.plot(x, z, **style)
        line = lines.intercepts[i] + lines.slope * x * 1e9 - base
        left.plot(x, line / US, color=COLOURS[i], linewidth=1)
    left.set_ylabel("seeming delivery time − offset, µs")
    right.set_ylabel("corrected delivery time, µs")
    right.set_ylim(bottom=0)
    for axes in (left, right):
        axes.set_xlabel("date, s")
    left.legend(fontsize=7.5)
    return to_svg(figure, prefix, where)
