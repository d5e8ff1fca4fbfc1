# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures as SVG that is the same, byte for byte, whenever the samples are."""

import io
import re
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np

from experiments.report.stats import Samples, cdf, percentile

mpl.use("svg")

import matplotlib.pyplot as plt
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure

mpl.rcParams.update({
    "svg.hashsalt": "timershield",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#000000",
    "grid.alpha": 0.13,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "path.simplify": True,
})

WIDE = 2
"""How many times the least the greatest value may be on an axis that is not logarithmic."""
COLOURS = ("#000000", "#0072b2", "#d55e00", "#999999", "#009e73")
"""Told apart by eyes of all kinds, and dark to light when printed in grey."""
DASHES = {"shielded": "-", "stock": "--", "off": ":"}
MARKERS = ("o", "s", "^", "D", "v")


@dataclass(frozen=True)
class Curve:
    """One distribution."""

    label: str
    mode: str
    """``stock``, ``off`` or ``shielded``: the line's style."""
    load: int
    """Which load: the line's colour and marker."""
    samples: Samples


def _honest(axis: Axis) -> None:
    """Say on an axis with a name that it is logarithmic, or where it begins."""
    label, low = axis.get_label_text(), float(min(axis.get_view_interval()))
    if label and axis.get_scale() == "log":
        axis.set_label_text(f"{label} (logarithmic)")
    elif label and low > 0:
        axis.set_label_text(f"{label} (axis begins at {low:.4g})")


def to_svg(figure: Figure, prefix: str, where: str = "") -> str:
    """The figure as an SVG element whose ids begin with ``prefix``, for use inside HTML.

    ``where``, the kernel or machine, is written into it; so is what its axes are.
    """
    for axes in figure.axes:
        _honest(axes.xaxis)
        _honest(axes.yaxis)
    if where:
        figure.suptitle(where, x=0.01, ha="left", fontsize=8)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    text = buffer.getvalue()
    text = text[text.index("<svg") :].replace("<svg ", '<svg fill="currentColor" ', 1)
    text = text.replace("#000000", "currentColor")      # black, or light on a dark page
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}-", text)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # an element a line
    return re.sub(r"\n(?! *<)", " ", text)


def _steps(samples: Samples) -> tuple[Samples, Samples]:
    """A CDF with only as many points as a figure can show."""
    values, share = cdf(samples)
    if len(values) > 2000:
        keep = np.unique(np.concatenate([
            np.linspace(0, len(values) - 1, 1000).astype(int),
            len(values) - 1 - np.geomspace(1, len(values), 1000).astype(int) + 1,
        ]))
        values, share = values[keep], share[keep]
    return values, share


def _wide(axis: Axis, low: float, high: float) -> None:
    """A logarithmic axis where a tail would press everything else against the figure's edge."""
    if low <= 0 or high <= WIDE * low:
        return
    axis.axes.set_xscale("log")
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 3, 5) if high < 100 * low else (1, 3)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda v, _: f"{v:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


Marks = dict[str, float]
"""What the paper has: a thin line at a place of the x axis, and its words."""


def _mark(axes: Axes, marks: Marks) -> None:
    for words, x in marks.items():
        axes.axvline(x, color="#cc79a7", linewidth=1, zorder=0)
        axes.annotate(words, (x, 0.98), xycoords=("data", "axes fraction"), rotation=90,
                      fontsize=6.5, color="#a0507f", ha="left", va="top")


def distribution(curves: list[Curve], unit: str, prefix: str, where: str = "",
                 marks: Marks | None = None) -> str:
    """A CDF, and next to it the tail on a logarithmic axis."""
    key = 0.19 * ((len(curves) + 1) // 2)
    figure, axes_by_name = plt.subplot_mosaic(
        [["left", "right"], ["key", "key"]], figsize=(9, 3.3 + key), layout="constrained",
        height_ratios=[3.3, key],
    )
    left, right = axes_by_name["left"], axes_by_name["right"]
    for curve in curves:
        values, share = _steps(curve.samples)
        style = {
            "linestyle": DASHES[curve.mode],
            "color": COLOURS[curve.load % len(COLOURS)],
            "marker": MARKERS[curve.load % len(MARKERS)],
            "markersize": 3.5,
            "linewidth": 1.3,
            "markevery": 0.2,
        }
        left.step(values, share, where="post", label=curve.label, **style)
        tail = 1 - share + 1 / len(curve.samples)
        right.step(values, tail, where="pre", **style)
    left.set_ylim(0, 1.02)
    left.set_ylabel("share of jobs that took no longer")
    right.set_yscale("log")
    right.set_ylabel("share that took as long or longer")
    for axes in (left, right):
        axes.set_xlabel(unit)
        axes.ticklabel_format(axis="x", useOffset=False)
    _wide(right.xaxis, min(float(c.samples.min()) for c in curves),
          max(float(c.samples.max()) for c in curves))
    _mark(right, marks or {})
    axes_by_name["key"].axis("off")
    axes_by_name["key"].legend(*left.get_legend_handles_labels(), loc="center", ncols=2,
                               fontsize=7.5)
    return to_svg(figure, prefix, where)


@dataclass(frozen=True)
class Line:
    """One line of :func:`lines`."""

    label: str
    mode: str
    load: int
    x: list[int]
    y: list[float]


def lines(curves: list[Line], x_unit: str, y_unit: str, prefix: str, where: str = "",
          marks: Marks | None = None) -> str:
    """Values against a number, on a logarithmic axis of values."""
    figure, axes = plt.subplots(figsize=(9, 3.2), layout="constrained")
    for curve in curves:
        axes.plot(curve.x, curve.y, label=curve.label, linestyle=DASHES[curve.mode],
                  color=COLOURS[curve.load % len(COLOURS)],
                  marker=MARKERS[curve.load % len(MARKERS)], markersize=4, linewidth=1.3)
    axes.set_xlabel(x_unit)
    axes.set_ylabel(y_unit)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(ticker.ScalarFormatter())
    axes.yaxis.set_minor_formatter(ticker.LogFormatter(minor_thresholds=(1.5, 1)))
    axes.set_xlim(left=0)
    _mark(axes, marks or {})
    axes.legend(fontsize=7.5)
    return to_svg(figure, prefix, where)


@dataclass(frozen=True)
class Candle:
    """One candlestick of :func:`candles`: a mode's samples."""

    mode: str
    samples: Samples


def candles(groups: dict[str, list[Candle]], unit: str, prefix: str, where: str = "") -> str:
    """Candlesticks as in the paper: line from minimum to maximum, box from the 5th to the 95th
    percentile, bar at the median; logarithmic axis.
    """
    figure, axes = plt.subplots(figsize=(9, 3.4), layout="constrained")
    face = {"stock": "#bbbbbb", "off": "none", "shielded": "#555555"}
    seen: set[str] = set()
    for i, sticks in enumerate(groups.values()):
        for j, stick in enumerate(sticks):
            x = i + (j - (len(sticks) - 1) / 2) * 0.3
            low, p5, p50, p95, high = (
                percentile(stick.samples, p) for p in (0, 5, 50, 95, 100))
            axes.plot([x, x], [low, high], color="#000000", linewidth=1, zorder=1)
            axes.bar([x], [max(p95 - p5, 0)], 0.22, bottom=p5, color=face[stick.mode],
                     edgecolor="#000000", linewidth=0.8, zorder=2,
                     label=None if stick.mode in seen else stick.mode)
            axes.plot([x - 0.11, x + 0.11], [p50, p50], color="#000000", linewidth=2.2, zorder=3)
            axes.plot([x - 0.11, x + 0.11], [p50, p50], color="#ffffff", linewidth=0.8, zorder=4)
            seen.add(stick.mode)
    axes.set_xticks(range(len(groups)), list(groups), fontsize=7.5)
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.8 * min(
        max(float(s.samples.min()), 1) for sticks in groups.values() for s in sticks))
    axes.yaxis.set_major_formatter(ticker.ScalarFormatter())
    axes.yaxis.set_minor_formatter(ticker.LogFormatter(minor_thresholds=(1.5, 1)))
    axes.grid(axis="x", visible=False)
    axes.set_ylabel(unit)
    axes.legend(fontsize=7.5)
    return to_svg(figure, prefix, where)


@dataclass(frozen=True)
class Bars:
    """One row of :func:`ranges`: a bar from p50 to the maximum for each mode."""

    label: str
    values: dict[str, tuple[float, float]]


def ranges(rows: list[Bars], unit: str, prefix: str, where: str = "",
           width: float = 9) -> str:
    """Median to maximum of several distributions under each other, mode by mode."""
    modes = [m for m in ("stock", "off", "shielded") if any(m in r.values for r in rows)]
    height = 0.13 * len(rows) * len(modes) + 1.0
    figure, axes = plt.subplots(figsize=(width, height), layout="constrained")
    face = {"stock": "#999999", "off": "none", "shielded": "#000000"}
    for i, row in enumerate(rows):
        for j, mode in enumerate(modes):
            if mode not in row.values:
                continue
            median, maximum = row.values[mode]
            y = i + (j - (len(modes) - 1) / 2) * 0.26
            axes.plot([median, maximum], [y, y], color="#808080", linewidth=1)
            axes.plot([median], [y], marker="o", color="#000000", markersize=5,
                      markerfacecolor=face[mode],
                      label=f"{mode}, median (line to the maximum)" if i == 0 else None)
            axes.plot([maximum], [y], marker="|", color="#000000", markersize=7)
    axes.set_yticks(range(len(rows)), [r.label for r in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel(unit)
    values = [v for r in rows for v in r.values.values()]
    _wide(axes.xaxis, min(v[0] for v in values), max(v[1] for v in values))
    axes.grid(axis="y", visible=False)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=len(modes), fontsize=7.5)
    return to_svg(figure, prefix, where)
