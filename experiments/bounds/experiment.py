# SPDX-License-Identifier: GPL-2.0-or-later
"""What the shield's bound costs a job that is longer than a tick."""

from experiments.bounds import bound
from experiments.common import compare, runs
from experiments.common.claims import Claim, Found
from experiments.common.experiment import Context, Experiment
from experiments.common.runs import Load
from experiments.common.shown import jobs
from experiments.common.stats import percentile
from experiments.measure.results import Measured

LONG = ("--period=40000000", "--jobs=100", "--warmup=2")
WORK_FACTOR = 67
"""Times 300 us, the work of other experiments' jobs, is 20 ms."""
LOADS = (
    Load("long-none", "20 ms job, no load", "", LONG),
    Load("long-timerfds-1000", "20 ms job, 1,000 timerfds", "timerfds:n=1000", LONG),
    Load("long-sleepers-1000", "20 ms job, 1,000 FIFO-70 sleepers",
         "sleepers:n=1000,periods=long+drift", LONG),
)


def _longer(stock: Measured, shielded: Measured) -> Found | None:
    """The share by which timers of others lengthen the long job's median."""
    idle, *loaded = (load.name for load in LOADS)
    names = [n for n in loaded if all(compare.both(s, stock, shielded) for s in (idle, n))]
    if not names:
        return None

    def median(system: Measured, scenario: str) -> float:
        return percentile(system.table(scenario, "jobs")["response_ns"], 50)

    more = {n: [median(s, n) / median(s, idle) - 1 for s in (shielded, stock)] for n in names}
    name = max(more, key=lambda n: more[n][0])
    ours, theirs = more[name]
    return Found(f"median {ours:+.2%}, stock {theirs:+.2%} ({name})", ours)


class Bounds(Experiment):
    """See the module."""

    name = "bounds"
    title = "A job that is longer than a tick"
    choices = LOADS
    claims = (
        Claim("A 20 ms job is at most {:.0%} longer next to 1,000 timers of others", _longer,
              most=0.01, paper="masks for as long as the job runs", rows="T10", shield="1 and 2"),
        bound.CLAIM,
    )
    shown = jobs()

    def run(self, context: Context) -> None:
        runs.run(context.without_off(), self.name, LOADS, work_factor=WORK_FACTOR)


EXPERIMENT = Bounds()
