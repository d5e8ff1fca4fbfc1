# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's Figs 3 to 6: distributions of oversleep, of clock reads and of learning."""

from collections.abc import Mapping
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from matplotlib import ticker
from matplotlib.axes import Axes

from experiments.measure.results import Table
from experiments.report.plots import COLOURS, MARKERS, to_svg

PAPERS_END_NS = 1e5
STYLES = ("-", "--", ":", "-.")


@dataclass(frozen=True)
class Curve:
    """Values, and the share of samples that do not exceed each."""

    label: str
    values: npt.NDArray[np.float64]
    shares: npt.NDArray[np.float64]


def from_counts(label: str, table: Table, what: str) -> Curve:
    """From the rows of costs.csv about ``what``."""
    chosen = table["what"] == what
    values, counts = table["took_ns"][chosen], table["count"][chosen]
    order = np.argsort(values)
    shares = np.cumsum(counts[order]) / counts.sum()
    return Curve(label, values[order].astype(float), shares)


def quantile(table: Table, what: str, share: float) -> float:
    """Of the samples about ``what`` in costs.csv, by nearest rank."""
    curve = from_counts("", table, what)
    at = int(np.searchsorted(curve.shares, share - 1e-12))
    return float(curve.values[min(at, len(curve.values) - 1)])


def cdfs(panels: list[tuple[str, list[Curve]]], unit: str, prefix: str, where: str = "",
         marks: Mapping[str, float] | None = None) -> str:
    """A panel of distributions each, up to the paper's 100 µs; logarithmic axis of values.

    An inset has the rest of one that goes further.
    """
    key = 0.19 * ((max(len(c) for _, c in panels) + 2) // 3)
    names = [f"panel {i}" for i in range(len(panels))]
    figure, by_name = plt.subplot_mosaic(
        [names, ["key"] * len(panels)], figsize=(9, 3.1 + key), layout="constrained",
        height_ratios=[3.1, key],
    )
    axes = [by_name[n] for n in names]
    for panel, (title, curves) in zip(axes, panels, strict=True):
        for i, curve in enumerate(curves):
            panel.step(np.maximum(curve.values, 1), curve.shares, where="post",
                       label=curve.label, color=COLOURS[i % len(COLOURS)],
                       linestyle=STYLES[i // len(COLOURS) % len(STYLES)],
                       marker=MARKERS[i % len(MARKERS)], markersize=3.2, linewidth=1.2,
                       markevery=0.2)
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter(ticker.FuncFormatter(lambda v, _: f"{v:g}"))
        panel.set_title(title, fontsize=9)
        panel.set_xlim(right=min(panel.get_xlim()[1], PAPERS_END_NS))
        last = max(float(c.values[-1]) for c in curves)
        if last > PAPERS_END_NS:
            _rest(panel, curves, last)
        for words, x in (marks or {}).items():
            panel.axvline(x, color="#cc79a7", linewidth=1)
            panel.annotate(words, (x, 0.5), rotation=90, fontsize=6.5, ha="right")
        panel.set_xlabel(unit)
        panel.set_ylim(0, 1.02)
    axes[0].set_ylabel("share of samples")
    by_name["key"].axis("off")
    by_name["key"].legend(*axes[0].get_legend_handles_labels(), loc="center", ncols=3,
                          fontsize=7.5)
    return to_svg(figure, prefix, where)


def _rest(panel: Axes, curves: list[Curve], last: float) -> None:
    """What lies beyond the paper's axis, in a corner of the panel."""
    inset = panel.inset_axes((0.33, 0.14, 0.36, 0.3))
    for i, curve in enumerate(curves):
        inset.step(np.maximum(curve.values, 1), 1 - curve.shares, where="post", linewidth=0.8,
                   color=COLOURS[i % len(COLOURS)],
                   linestyle=STYLES[i // len(COLOURS) % len(STYLES)])
    inset.set_xscale("log")
    inset.set_yscale("log")
    inset.set_xlim(PAPERS_END_NS, last)
    inset.set_title("later than 100 µs: share", fontsize=6)
    inset.tick_params(labelsize=5)
