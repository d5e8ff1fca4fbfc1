# SPDX-License-Identifier: GPL-2.0-or-later
"""One page for all experiments: what they claim, a table of each figure, its distribution.

It loads nothing, and the same samples give the same page.
"""

import base64
import functools
import html
import io
import os
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import matplotlib as mpl
import numpy as np

from experiments import registry
from experiments.common.claims import Judged, rows
from experiments.common.experiment import Experiment
from experiments.common.shown import Shown
from experiments.common.stats import Samples, percentile
from experiments.measure.results import Store
from lab.errors import LabError

mpl.use("svg")

import matplotlib.pyplot as plt

mpl.rcParams.update({"svg.hashsalt": "timershield", "svg.fonttype": "none", "font.size": 7})
STYLE = """
body { font: 14px/1.5 sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: .8rem 0; font-size: 12px }
td, th { padding: .15rem .5rem; text-align: right; border-bottom: 1px solid #ccc;
         vertical-align: top }
.claims td { text-align: left; white-space: pre-line } img { max-width: 100% }
"""
INTRODUCTION = (
    "What the papers have, measured again on stock and shielded kernels. Guests count "
    "instructions, one a nanosecond: exact and repeatable, without caches and without what an "
    "interrupt costs in hardware. They compare kernels, not machines.")
PANELS = 4
CURVES = 8
LINES = ("-", "--", ":", "-.")


def failure(call: Callable[[], None]) -> str | None:
    """Why ``call`` failed, if it did.

    A defect in one experiment's code, or in its samples, must not cost what the others have.
    """
    try:
        call()
    except LabError as error:
        return str(error)
    except Exception as error:
        traceback.print_exc()
        return f"{type(error).__name__}: {error}"
    return None


def write(root: Path, target: Path, failed: Mapping[str, str] | None = None) -> dict[str, str]:
    """Write the page at ``target``; it appears as a whole or not at all.

    ``failed`` names experiments that did not run to their end, and says why. Returned are those
    whose results cannot be shown, with the reasons, which the page names, too.
    """
    sections: list[str] = []
    damaged: dict[str, str] = {}
    for experiment in registry.EXPERIMENTS:
        store = Store(root, experiment.name)
        if store.systems() and (error := failure(functools.partial(
                lambda e, s: sections.append(_section(e, s)), experiment, store))):
            damaged[experiment.name] = error
    if not sections:
        raise LabError("\n".join(damaged.values()) or f"there are no results in {root}; first: "
                       "lab/lab run response-time")
    amiss = "".join(f"<p><b>{html.escape(name)}</b>: {html.escape(why)}</p>\n"
                    for name, why in {**(failed or {}), **damaged}.items())
    text = (f"<!DOCTYPE html>\n<html lang=en><meta charset=utf-8><title>TimerShield: measured"
            f"</title><style>{STYLE}</style>\n<h1>TimerShield: measured</h1>\n"
            f"<p>{INTRODUCTION}</p>\n{amiss}{''.join(sections)}</html>\n")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(target.name + ".new")
    temporary.write_text(text)
    os.replace(temporary, target)
    return damaged


def table(head: Iterable[str], lines: Iterable[Iterable[str]], kind: str = "") -> str:
    """Of cells that are text."""
    def row(tag: str, cells: Iterable[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>\n"

    return (f'<table class="{kind}">{row("th", head)}'
            + "".join(row("td", cells) for cells in lines) + "</table>\n")


def _section(experiment: Experiment, store: Store) -> str:
    """An experiment's part of the page."""
    text = f'<h2 id="{experiment.name}">{html.escape(experiment.title)}</h2>\n'
    text += "".join(f"<p>{html.escape(s.name)}: {html.escape(s.meta['kernel'])}</p>\n"
                    for s in store)
    text += _claims(experiment.judged(store))
    return text + "".join(_shown(shown, store) for shown in experiment.shown)


def _claims(judged: list[Judged]) -> str:
    cells = [[r.text, r.paper, r.found, r.verdict + (f" (on {r.where})" if r.where else "")]
             for r in rows(judged)]
    return table(("claim", "paper", "ours", "verdict"), cells, "claims") if cells else ""


def figures(samples: Samples, how: tuple[float, ...] | str) -> dict[str, float]:
    """Their names and values."""
    if isinstance(how, str):
        return {how: float(getattr(np, how)(samples))}
    return {"max" if p == 100 else f"p{p:g}": percentile(samples, p) for p in how}


def _shown(shown: Shown, store: Store) -> str:
    """Rows of scenario, key and figure, a column for each system; and a picture."""
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    panels: dict[str, dict[str, Samples]] = {}
    systems: dict[str, None] = {}
    for system in store:
        for scenario in system.scenarios:
            for key, samples in shown.rows(system, scenario).items():
                if not len(samples):
                    continue
                systems[system.name] = None
                panels.setdefault(scenario, {})[f"{system.name} {key}".strip()] = samples
                for name, value in figures(samples, shown.how).items():
                    found.setdefault((scenario, key, name), {})[system.name] = value
    if not found:
        return ""
    text = f"<h3>{html.escape(shown.title)}</h3>\n" + table(
        ("scenario", "", "", *systems),
        ((*row, *(f"{values[s]:,.10g}" if s in values else "" for s in systems))
         for row, values in found.items()))
    drawn = [s for s in shown.drawn if s in panels] or list(panels)[:PANELS]
    return text if isinstance(shown.how, str) else text + picture(
        {s: panels[s] for s in drawn}, shown.title, shown.paper)


def picture(panels: Mapping[str, Mapping[str, Samples]], unit: str,
            paper: Mapping[str, float]) -> str:
    """The share of samples up to a value, a panel for each scenario; lines are the paper's."""
    figure, found = plt.subplots(1, len(panels), figsize=(3 * len(panels), 2.8), squeeze=False,
                                 layout="constrained", sharey=True)
    for axes, (scenario, curves) in zip(found[0], panels.items(), strict=True):
        for i, (name, samples) in enumerate(list(curves.items())[:CURVES]):
            values = np.sort(samples)
            if len(values) > 2000:
                values = np.quantile(values, np.linspace(0, 1, 2000), method="higher")
            axes.step(values, np.linspace(0, 1, len(values)), where="post", label=name,
                      linestyle=LINES[i % len(LINES)])
        if min(s.min() for s in curves.values()) > 0:
            axes.set_xscale("log")
        for words, x in paper.items():
            axes.axvline(x, color="#cc79a7", linewidth=1)
            axes.annotate(words, (x, 0.98), xycoords=("data", "axes fraction"), rotation=90,
                          fontsize=5, ha="right", va="top")
        axes.set_title(scenario)
        axes.set_xlabel(unit)
        axes.legend(fontsize=5)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return ('<img alt="" src="data:image/svg+xml;base64,'
            f'{base64.b64encode(buffer.getvalue()).decode()}">\n')
