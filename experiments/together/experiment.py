# SPDX-License-Identifier: GPL-2.0-or-later
"""How late a 1 kHz job starts with ClockFix and TimerShield together, and with neither."""

from experiments.common import runs
from experiments.common.claims import Claim, Found
from experiments.common.experiment import Context, Experiment
from experiments.common.runs import Load
from experiments.common.shown import Shown, column
from experiments.common.stats import percentile
from experiments.guard import SHIELD
from experiments.measure.results import Measured

HOSTILE = "timerfds:n=1000 sleepers:n=100,sync posix-timers:n=100 hogs:n=2"
LOADS = tuple(
    Load(f"{idle}{wait}", f"{wait}, {words}", load, (f"--wait={wait}",), off=False)
    for idle, words, load in (("idle-", "nothing else runs", ""), ("", "hostile loads", HOSTILE))
    for wait in ("nanosleep", "clockfix"))


def _start(stock: Measured, shielded: Measured) -> Found | None:
    if not (stock.has("nanosleep") and shielded.has("clockfix")):
        return None
    a, b = (percentile(s.table(scenario, "jobs")["latency_ns"], 50) / 1000
            for s, scenario in ((shielded, "clockfix"), (stock, "nanosleep")))
    return Found(f"{a:.2f} instead of {b:.2f} µs ({a / b:.1%})", a / b)


class Together(Experiment):
    """See the module."""

    name = "together"
    title = "ClockFix and TimerShield together"
    of = (*SHIELD, "clockfix/src")
    choices = LOADS
    claims = (Claim("With ClockFix and TimerShield the median start is at most {:.0%} as late as "
                    "with neither", _start, most=0.1, rows="C21", shield="2"),)
    shown = (Shown("how late the job starts, ns", column("jobs", "latency_ns")),)

    def run(self, context: Context) -> None:
        runs.run(context.without_off(), self.name, LOADS)


EXPERIMENT = Together()
