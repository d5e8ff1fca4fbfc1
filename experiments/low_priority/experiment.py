# SPDX-License-Identifier: GPL-2.0-or-later
"""Response time of the lowest-priority of three kinds of tasks: the paper's Figs 11 and 12."""

from experiments.common import compare, runs
from experiments.common.claims import Claim, Found
from experiments.common.experiment import Context, Experiment
from experiments.common.runs import Load
from experiments.common.shown import Shown
from experiments.common.stats import Samples
from experiments.measure.results import Measured

STEPS = (1, 10, 20, 30, 40, 50)
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
    names = [load.name for load in LOADS if compare.both(load.name, stock, shielded)]
    if not names:
        return None
    mean = {n: [responses(s, n).mean() / 1000 for s in (stock, shielded)] for n in names}
    more = {n: float(b - a) for n, (a, b) in mean.items()}
    name = max(more, key=lambda n: more[n])
    a, b = (sum(s.summary(n)["timer_interrupts"] for n in names) for s in (stock, shielded))
    return Found(f"{more[name]:+.2f} µs ({name}), timer interrupts {b / a - 1:+.0%}", more[name])


def _grows(stock: Measured, shielded: Measured) -> Found | None:
    """What the shield adds next to one medium task, and next to fifty."""
    names = [f"medium-{n}" for n in (STEPS[0], STEPS[-1])]
    if not all(compare.both(n, stock, shielded) for n in names):
        return None
    one, many = (float(responses(shielded, n).mean() - responses(stock, n).mean()) / 1000
                 for n in names)
    return Found(f"{one:+.2f} µs next to 1, {many:+.2f} µs next to 50", many - one)


class LowPriority(Experiment):
    """See the module."""

    name = "low-priority"
    title = "Response time of the lowest-priority task"
    choices = LOADS
    claims = (
        Claim("The lowest-priority task next to 1 to 50 medium ones is served no later than on "
              "stock, on average", _longer, most=0, rows="T36", paper="Figs 11, 12: mean up to "
              "0.06 µs (Intel) and 1.79 µs (ARM) worse", shield="2"),
        Claim("What it is served later by grows by at most {} µs from 1 to 50 medium tasks",
              _grows, most=0.5, rows="T47", paper="IV-D: does not increase significantly with the "
              "number of medium tasks", shield="2"))
    shown = (
        Shown("mean response of the lowest-priority task, ns",
              lambda system, scenario: {"": responses(system, scenario)}, "mean"),
        Shown("its response, ns", lambda system, scenario: {"": responses(system, scenario)},
              drawn=("medium-1", "medium-30", "medium-50")))

    def run(self, context: Context) -> None:
        runs.run(context.without_off(), self.name, LOADS)


EXPERIMENT = LowPriority()
