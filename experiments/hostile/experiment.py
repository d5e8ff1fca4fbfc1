# SPDX-License-Identifier: GPL-2.0-or-later
"""What one unprivileged process can take from a SCHED_FIFO 99 task by arming timers.

The paper's Figs 9, 10 and Table II, with timerfds; and POSIX timers, sleeping threads and
interval timers.
"""

import math
from dataclasses import replace

from experiments.bounds import bound
from experiments.common import compare, runs
from experiments.common.claims import Claim, Found
from experiments.common.experiment import Context, Experiment
from experiments.common.runs import Load
from experiments.common.shown import Shown, column, jobs
from experiments.common.stats import summarize
from experiments.measure.results import Measured

THROUGHPUT_LOSS = 0.0005
AFFECTED = 0.01
WINDOWS_MS = {"matrix": 0.3, "most": 0.95, "endless": 1.0}
"""Of each period of 1 ms, the job multiplies matrices for so long: ``most`` leaves the hostile
process 5 %, what throttling left it in the paper; ``endless`` leaves it nothing, so that it arms
nothing again."""

LONG = ("none", "timerfds-100", "timerfds-1000")
KINDS = (
    ("timerfds-100", "timerfds of 1, 2, … 100 µs", "timerfds:n=100"),
    ("timerfds-1000", "timerfds of 1, 2, … 1,000 µs", "timerfds:n=1000"),
    ("posix-100", "100 POSIX timers", "posix-timers:n=100"),
    ("posix-1000", "1,000 POSIX timers", "posix-timers:n=1000"),
    ("threads-100", "100 sleeping threads", "threads:n=100"),
    ("threads-1000", "1,000 sleeping threads", "threads:n=1000"),
    ("itimers-100", "100 processes with an interval timer", "itimers:n=100"),
    ("itimers-1000", "1,000 processes with an interval timer", "itimers:n=1000"),
)
LOADS = (
    Load("none", "no load"),
    *(Load(name, title, load, off=False) for name, title, load in KINDS),
    *(Load(f"{work}-{name}", f"{title}, {words}", load, (f"--matrix={ms * 1e6:.0f}",), off=False)
      for (work, ms), words in zip(WINDOWS_MS.items(), (
          "matrix multiplications", "multiplications for 95 % of the time",
          "multiplications without end"), strict=True)
      for name, title, load in (("none", "no load", ""), *KINDS)
      if work == "matrix" or name in LONG),
)

def rate(system: Measured, scenario: str) -> float:
    """Matrix multiplications a ms of a job's time, on average."""
    window = WINDOWS_MS[scenario.partition("-")[0]]
    return float(system.table(scenario, "jobs")["products"].mean()) / window


def losses(system: Measured) -> dict[str, float]:
    """Scenario -> share of throughput lost to it."""
    return {f"{work}-{name}": 1 - rate(system, f"{work}-{name}") / rate(system, f"{work}-none")
            for work in WINDOWS_MS if system.has(f"{work}-none")
            for name, _, _ in KINDS if system.has(f"{work}-{name}")}


def _throughput(stock: Measured, shielded: Measured) -> Found | None:
    """Where stock loses nothing, there is nothing to judge."""
    ours, theirs = losses(shielded), losses(stock)
    both = [n for n in ours if theirs.get(n, 0) > THROUGHPUT_LOSS]
    if not both:
        return None
    name = max(both, key=ours.__getitem__)
    return Found(f"{ours[name]:.3%}, stock {theirs[name]:.3%} ({name})", ours[name])


def _response(stock: Measured, shielded: Measured) -> Found | None:
    """Where stock's median hardly grows, there is nothing to protect from."""
    if not all(compare.both(s, stock, shielded) for s in ("none", "timerfds-1000")):
        return None
    growth = []
    for system in (stock, shielded):
        idle, load = (summarize(system.table(s, "jobs")["response_ns"])
                      for s in ("none", "timerfds-1000"))
        growth.append((load.p50 / idle.p50 - 1, load.maximum / idle.maximum - 1))
    interrupted = int(shielded.table("timerfds-1000", "jobs")["interruptions"].sum())
    theirs, ours = growth
    found = f"median {ours[0]:+.2%}, stock {theirs[0]:+.2%}"
    if theirs[0] < AFFECTED:
        return Found(f"{found}: not affected either")
    return Found(found, math.inf if interrupted else ours[0])


class Hostile(Experiment):
    """See the module."""

    name = "hostile"
    title = "Timers of an unprivileged process against a high-priority task"
    choices = LOADS
    claims = (
        Claim("1,000 timerfds of an unprivileged process do not interrupt a high-priority job, "
              "whose median is at most {:.1%} longer", _response, most=0.005, rows="T37",
              paper="Fig 9 (Intel): Linux about +45 µs (22 %); TimerShield unaffected", shield="1"),
        Claim("Nor do they cost throughput: at most {:.2%}", _throughput, most=THROUGHPUT_LOSS,
              rows="T38", paper="Table II: Linux 1.8 % (Intel), 4.4 % (ARM); TimerShield about "
              "0.02 %, 0.08 %", shield="1"),
        replace(bound.CLAIM, shield="1"),
    )
    shown = (*jobs(*LONG, paper={"the paper's Linux, +22 %": 366_000}),
             Shown("multiplications of a job", column("jobs", "products"), "mean"))

    def run(self, context: Context) -> None:
        runs.run(context.without_off(), self.name, LOADS)


EXPERIMENT = Hostile()
