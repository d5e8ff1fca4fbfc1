# SPDX-License-Identifier: GPL-2.0-or-later
"""Response time of the lowest-priority of three kinds of tasks: the paper's Figs 11 and 12."""

from experiments.common import compare, runs
from experiments.common.claims import Claim, Found
from experiments.common.experiment import Context, Experiment
from experiments.common.runs import Load
from experiments.measure.results import Measured, Store
from experiments.report import plots
from experiments.report.page import Figure, Part, Table, Text
from experiments.report.stats import Samples, summarize

STEPS = (1, 10, 20, 30, 40, 50)
SHOWN = (1, 30, 50)
PERIOD_NS = 900000


def _load(n: int) -> Load:
    return Load(
        f"medium-{n}", f"{n} medium task{'s' * (n > 1)}",
        f"sleepers:n={n},priority=75 sleepers:n=1,priority=70,period={PERIOD_NS}", off=False)


LOADS = tuple(_load(n) for n in STEPS)


def responses(system: Measured, scenario: str) -> Samples:
    """Of the lowest-priority task, which is the last one, ns."""
    table = system.table(scenario, "releases")
    samples: Samples = table["response_ns"][table["task"] == table["task"].max()]
    return samples


def _longer(stock: Measured, shielded: Measured) -> Found | None:
    more = {load.name: float(responses(shielded, load.name).mean()
                             - responses(stock, load.name).mean()) / 1000
            for load in LOADS if compare.both(load.name, stock, shielded)}
    if not more:
        return None
    a, b = (sum(s.summary(n)["timer_interrupts"] for n in more) for s in (shielded, stock))
    return Found(f"mean {min(more.values()):+.2f} to {max(more.values()):+.2f} µs against stock; "
                 f"timer interrupts {a / b - 1:+.0%}", max(more.values()))


class LowPriority(Experiment):
    """See the module."""

    name = "low-priority"
    title = "Response time of the lowest-priority task"
    choices = LOADS
    claims = (Claim(
        "The lowest-priority task next to 1 to 50 medium ones is served no later than on stock, on "
        "average", _longer, most=0, rows="T36",
        paper="Figs 11, 12: mean up to 0.06 µs (Intel) and 1.79 µs (ARM) worse", shield="2"),)

    def run(self, context: Context) -> None:
        runs.run(context.without_off(), self.name, LOADS)

    def parts(self, store: Store) -> list[Part]:
        return [Text(
            "A SCHED_FIFO 99 task works 300 µs of every millisecond; 1 to 50 medium tasks at "
            "FIFO 75 sleep and wake up with periods from 1 to 1,000 ms; one task at FIFO 70 is "
            "released every 0.9 ms and does a small piece of work. Its response time, from release "
            "to end, includes waiting for all the others; releases during the high-priority job "
            "make the right part of the distribution."),
            Text(compare.WHY_GUEST),
            *compare.by_platform(store, lambda platform, modes: [
                *_figure(platform, modes), _table(modes)])]


def _figure(platform: str, modes: compare.Modes) -> list[Figure]:
    curves = [
        plots.Curve(f"{_load(n).title}, {mode}", mode, i,
                    responses(system, f"medium-{n}") / 1000)
        for i, n in enumerate(SHOWN) for mode, system in compare.having(modes, f"medium-{n}")
    ]
    if not curves:
        return []
    return [Figure(
        plots.distribution(curves, "response time in µs", f"low-{platform}", platform),
        f"{platform}: response time of the lowest-priority task; "
        f"{max(len(c.samples) for c in curves):,} releases a curve.")]


def _table(modes: compare.Modes) -> Table:
    rows = []
    for load in LOADS:
        title = load.title
        means = []
        for mode, system in compare.having(modes, load.name):
            samples = responses(system, load.name)
            s = summarize(samples)
            means.append(float(samples.mean()))
            more = f"{means[1] - means[0]:+.0f}" if len(means) == 2 else ""
            rows.append([title, mode, f"{means[-1] / 1000:.3f}", more,
                         *(f"{v / 1000:.2f}" for v in (s.p50, s.p95, s.p99, s.maximum)),
                         f"{s.count:,}",
                         f"{system.summary(load.name)['timer_interrupts']:,.0f}"])
            title = ""
    return Table(["load", "kernel", "mean", "mean − stock's (ns)", "p50", "p95", "p99", "max",
                  "releases", "timer interrupts"], rows,
                 "Response times in µs; timer interrupts of the whole run, which cost nothing in "
                 "hardware here: what the shield saves by serving deferred timers together is the "
                 "instructions of their interrupts alone.", text_columns=2)


EXPERIMENT = LowPriority()
