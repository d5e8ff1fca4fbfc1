# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's Fig 9: what the age of information is made of."""

import matplotlib.pyplot as plt

from experiments.age_of_information.packets import Ages
from experiments.report.plots import to_svg

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
