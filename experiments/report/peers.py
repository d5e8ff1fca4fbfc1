# SPDX-License-Identifier: GPL-2.0-or-later
"""clockfix/bench/README.md: tables and a picture of what clockfix-bench printed."""

import hashlib
import lzma
import re
from collections.abc import Callable, Iterator, Mapping
from statistics import mean, median

import matplotlib.pyplot as plt
from matplotlib import ticker

from experiments.report.plots import COLOURS, MARKERS, to_svg
from lab.paths import REPO

BENCH = REPO / "clockfix" / "bench"
PICTURE = BENCH / "curves.svg"
PEERS = {"poll": "polling loop", "margin-60us": "fixed margin of 60 µs",
         "margin-125us": "fixed margin of 125 µs", "mean-deviation": "mean + 2 deviations",
         "filter-max": "the paper's loop, maximum of 64", "spin_sleep": "spin_sleep 1.3.3"}
OURS = {"clockfix": "job", "clockfix-sleep": "sleep-until", "clockfix-rehearse": "job, rehearsed"}
SETTINGS = {f"clockfix-1in{n}": f"job, 1 in {n}" for n in (10, 30, 100, 300, 1000)}
PS = ("p50", "p95", "p99")
Recorded = Mapping[str, str]


def recorded() -> dict[str, str]:
    """Name -> what the bench printed, several runs one after the other."""
    return {p.name.partition(".")[0]: lzma.decompress(p.read_bytes()).decode()
            for p in sorted((BENCH / "measured").glob("*.xz"))}


def rows(text: str) -> dict[str, dict[str, dict[str, float]]]:
    """Interval -> rival -> column -> median of its runs, of shares the mean."""
    found: dict[str, dict[str, list[tuple[float, ...]]]] = {}
    columns: list[str] = []
    for line in text.splitlines():
        words = line.split()
        if words[2:4] == ["jobs", "p1"]:
            table, columns = found.setdefault(" ".join(words[:2]).replace("u", "µ"), {}), words[2:]
        elif re.fullmatch(r"\w\S+( +[\d.]+){10}", line):
            table.setdefault(words[0], []).append(tuple(map(float, words[1:])))
    return {interval: {rival: {c: (mean if c in (">1us", "cpu") else median)(values)
                               for c, values in zip(columns, zip(*runs, strict=True), strict=True)}
                       for rival, runs in table.items()} for interval, table in found.items()}


def markdown(head: list[str], lines: list[list[str]]) -> str:
    """A table, as it stands between two markers."""
    first, *others = ("| " + " | ".join(line) + " |\n" for line in [head, *lines])
    return f"\n{first}|{'---|' * len(head)}\n{''.join(others)}"


def _cell(row: Mapping[str, float], *columns: str) -> str:
    times = "/".join(f"{row[c]:,.9g}" for c in columns)
    return f"{times}{', ' if times else ''}{row['>1us']:.1f} %, {row['cpu']:.1f} %"


def _lateness(tables: Mapping[str, Mapping[str, Mapping[str, float]]], *columns: str) -> str:
    titles = {**PEERS, **{k: f"**{t}**" for k, t in OURS.items()}, **SETTINGS}
    return markdown(["", *tables], [[title, *(_cell(t[rival], *columns) for t in tables.values())]
                                    for rival, title in titles.items()])


def compared(text: str) -> Iterator[list[str]]:
    """Interval and measure, rival, its CPU time, lateness +- error; ours then +- error, verdict.

    If none of ours takes so little CPU time, the last three are empty.
    """
    where = ""
    for line in text.splitlines():
        if found := re.match(r"(\d+) ([um])s, (p99|later)", line):
            where = f"{found[1]} {found[2].replace('u', 'µ')}s, {found[3]}"
        elif found := re.match(r"  (\S+) +(\S+) % CPU: +(\S+) \+- (\S+), "
                               r"(?:none of .+|ours +(\S+) \+- (\S+): (.+))", line):
            yield [where, *found.groups("")]


def _below(text: str) -> str:
    lines = []
    for where, rival, cpu, late, error, ours, ours_error, verdict in compared(text):
        p99 = where.endswith("p99")
        if rival in PEERS and (verdict == "BELOW" or (p99 and not verdict)):
            values = [f"{float(value):,.{0 if p99 else 2}f} ± {float(noise):,.{0 if p99 else 2}f}"
                      f" {'ns' if p99 else '%'}" if value else "none takes so little"
                      for value, noise in ((late, error), (ours, ours_error))]
            lines.append([f"{where}{'' if p99 else ' than 1 µs'}", PEERS[rival], f"{cpu} %",
                          *values])
    return markdown(["", "", "CPU time", "lateness", "ours at that CPU time"], lines)


def _medians(found: Recorded) -> str:
    tables = rows(found["fifo"])
    return markdown(["", *tables], [
        [title, *(f"{t[ours]['p50'] / t['poll']['p50']:.2f}" for t in tables.values())]
        for ours, title in OURS.items()])


def _comes_and_goes(found: Recorded) -> str:
    text = found["comes-and-goes"]
    job = rows(text)["50 µs"]["clockfix"]
    sleeps = list(map(float, re.findall(r"(?m)^\d.+ ([\d.]+) +\S+  \|__clockfix$", text)))
    return (f"\n{len(sleeps)} seconds: {min(sleeps):,.0f} sleeps in the least of them, "
            f"{mean(sleeps):,.0f} in the mean. Of {job['jobs']:,.0f} jobs {job['>1us']:.1f} %\n"
            f"were later than 1 µs, for {job['cpu']:.0f} % of a CPU.\n")


def _side_by_side(found: Recorded) -> str:
    first, now = rows(found["first"]), rows(found["now"])
    names = {**OURS, "clockfix-plt": "job by the PLT"}
    return markdown(["", *now], [
        [title, *(_cell(t[rival], "p50") for t in tables.values())]
        for rival, name in names.items()
        for title, tables in ((f"{name}, ac96404", first), (f"**{name}**", now))])


def _submission(found: Recorded) -> str:
    cost = re.findall(r"(\d+) pending +\d+ +(\d+) +(\d+)", found["submit"])
    return markdown(["pending", "submit, median", "p95", "cancel, median"], [
        [f"{int(n):,}", median, p95, cancel]
        for (n, median, p95), (_, cancel, _) in zip(cost[::2], cost[1::2], strict=True)])


QUOTES: Mapping[str, Callable[[Recorded], str]] = {
    "lateness": lambda found: _lateness(rows(found["fifo"]), *PS),
    "lateness-compiler": lambda found: _lateness(rows(found["fifo-compiler"]), *PS),
    "lateness-other": lambda found: _lateness({
        **rows(found["other"]),
        **{f"{i}, compiler": table for i, table in rows(found["other-compiler"]).items()}}),
    "below": lambda found: _below(found["fifo"]),
    "below-compiler": lambda found: _below(found["fifo-compiler"]),
    "below-other": lambda found: _below(found["other"]),
    "below-other-compiler": lambda found: _below(found["other-compiler"]),
    "medians": _medians, "comes-and-goes": _comes_and_goes,
    "side-by-side": _side_by_side, "submission": _submission,
}


def digest(found: Recorded) -> str:
    """The picture's first line: which recording it shows."""
    return f"<!-- {hashlib.sha256(found['fifo'].encode()).hexdigest()} -->\n"


def picture(found: Recorded) -> str:
    """CPU time against p99 and against late jobs: our settings as a line, the others as points."""
    tables = rows(found["fifo"])
    errors = {(where, rival): float(error)
              for where, rival, _, _, error, *_ in compared(found["fifo"])}
    figure, grid = plt.subplots(2, len(tables), figsize=(10, 5.2), sharey="row")
    figure.set_layout_engine("constrained", rect=(0, 0.1, 1, 0.9))
    for column, (interval, table) in zip(grid.T, tables.items(), strict=True):
        column[0].set_title(f"a job each {interval}", fontsize=9)
        column[1].set_xlabel("CPU time, %")
        for axes, what, name in zip(column, ("p99", ">1us"), ("p99", "later"), strict=True):
            axes.plot([table[s]["cpu"] for s in SETTINGS], [table[s][what] for s in SETTINGS],
                      "k.-", linewidth=1.2, label="job, 1 in 10 to 1 in 1000")
            for i, (rival, title) in enumerate({**OURS, **PEERS}.items()):
                axes.errorbar(
                    table[rival]["cpu"], table[rival][what], label=title, linestyle="",
                    yerr=errors.get((f"{interval}, {name}", rival)), elinewidth=0.8,
                    marker="*DP"[i] if i < 3 else MARKERS[i % 5], markersize=4 + 5 * (i < 1),
                    color="#000000" if i < 3 else COLOURS[1 + i % 4])
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.xaxis.set_major_locator(ticker.FixedLocator(
                (0.1, 1, 10, 100) if table["clockfix"]["cpu"] < 2 else (3, 10, 30, 60, 100)))
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_formatter(ticker.FuncFormatter(lambda v, _: f"{v:,g}"))
                axis.set_minor_locator(ticker.NullLocator())
    grid[0, 0].set_ylabel("p99, ns")
    grid[0, 0].set_ylim(40, 300000)
    grid[1, 0].set_ylabel("jobs later than 1 µs, %")
    grid[1, 0].set_ylim(0.25, 130)
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="lower center", ncols=5, fontsize=8)
    unused = r"'DejaVu Sans'[^;]+, | id=\"[\w.-]+_\d+\"| transform=\"rotate\(-0[^\"]+\""
    svg = re.sub(unused, "", " ".join(to_svg(figure, "curves").split()))
    return f"{digest(found)}{svg}\n"
