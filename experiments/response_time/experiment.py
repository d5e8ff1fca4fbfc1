# SPDX-License-Identifier: GPL-2.0-or-later
"""Response time of a 1 kHz SCHED_FIFO 99 job next to timers of lower-ranking tasks.

The paper's section IV-C: unsynchronized releases (Figs 5, 6), synchronized ones (Figs 7, 8)
and unprivileged timers (Figs 9, 10; Table II).
"""

from experiments.common import runs
from experiments.common.experiment import Context, Experiment
from experiments.common.runs import Load
from experiments.measure.results import Store
from experiments.report.page import Part
from experiments.response_time import section
from experiments.response_time.claims import CLAIMS
from experiments.response_time.steps import NUMBERS

PHASE = ("--period=1037000",)
"""Jobs of other scenarios begin half-way between two ticks; these fall on ticks, too."""


CYCLICTEST = "/usr/bin/cyclictest"
PAPER = ("--products=1500",)
"""200 us of matrix multiplications in a guest."""


def _sleepers(n: int, synchronized: bool) -> Load:
    plural = "s" * (n > 1)
    shown = n in (1, 50, 100)
    if synchronized:
        return Load(f"sync-{n}", f"{n} FIFO-70 sleeper{plural}, synchronized",
                    f"sleepers:n={n},sync", off=shown)
    return Load(f"sleepers-{n}", f"{n} FIFO-70 sleeper{plural}, unsynchronized",
                f"sleepers:n={n}", off=shown)


LOADS = (
    Load("none", "no load"),
    *(_sleepers(n, False) for n in NUMBERS),
    Load("spread-100", "100 sleepers over 90 priorities", "sleepers:n=100,spread"),
    Load("drift-100", "100 FIFO-70 sleepers, drifting", "sleepers:n=100,periods=drift"),
    Load("sleepers-1000", "1,000 FIFO-70 sleepers, drifting",
         "sleepers:n=1000,periods=long+drift"),
    Load("spread-1000", "1,000 sleepers over 90 priorities, drifting",
         "sleepers:n=1000,spread,periods=long+drift"),
    *(_sleepers(n, True) for n in NUMBERS),
    Load("sync-spread-100", "100 sleepers over 90 priorities, synchronized",
         "sleepers:n=100,sync,spread"),
    Load("sync-1000", "1,000 FIFO-70 sleepers, synchronized",
         "sleepers:n=1000,sync,periods=long"),
    Load("timerfds-100", "one unprivileged process, 100 timerfds", "timerfds:n=100"),
    Load("timerfds-1000", "one unprivileged process, 1,000 timerfds", "timerfds:n=1000"),
    Load("posix-500", "one unprivileged process, 500 POSIX timers", "posix-timers:n=500"),
    Load("itimers-100", "100 unprivileged processes, interval timers", "itimers:n=100"),
    Load("threads-200", "200 unprivileged sleeping threads", "threads:n=200"),
    Load("hogs-2", "2 unprivileged processes that compute", "hogs:n=2"),
    *(Load(f"phase-{name}", f"{title}, period 1.037 ms", load, PHASE) for name, title, load in (
        ("none", "no load", ""),
        ("drift-100", "100 FIFO-70 sleepers, drifting", "sleepers:n=100,periods=drift"),
        ("timerfds-1000", "1,000 timerfds", "timerfds:n=1000"),
        ("threads-200", "200 unprivileged sleeping threads", "threads:n=200"),
        ("hogs-2", "2 processes that compute", "hogs:n=2"))),
    *(Load(f"paper-{name}", f"200 µs of matrices, {title}", load, PAPER, off=False,
           tools=(CYCLICTEST,))
      for name, title, load in (
          ("none", "no load", ""),
          ("cyclictest-50", "50 processes of cyclictest", "cyclictest:n=50"),
          ("cyclictest-100", "100 processes of cyclictest", "cyclictest:n=100"))),
    Load("spare-none", "no load, spare time counted", "", ("--spare",)),
    Load("spare-100", "100 FIFO-70 sleepers, drifting, spare time counted",
         "sleepers:n=100,periods=drift", ("--spare",)),
    Load("spare-spread-100", "100 sleepers over 90 priorities, drifting, spare time counted",
         "sleepers:n=100,spread,periods=drift", ("--spare",)),
    Load("spare-spread-1000", "1,000 sleepers over 90 priorities, drifting, spare time counted",
         "sleepers:n=1000,spread,periods=long+drift", ("--spare",)),
)


class ResponseTime(Experiment):
    """See the module."""

    name = "response-time"
    title = "Response time of a high-priority task next to lower-priority timers"
    claims = CLAIMS
    choices = LOADS

    def run(self, context: Context) -> None:
        runs.run(context, self.name, LOADS)

    def parts(self, store: Store) -> list[Part]:
        return section.parts(store, LOADS_BY_GROUP)


LOADS_BY_GROUP: dict[str, tuple[str, ...]] = {
    "Unsynchronized low-priority tasks (paper: Figs 5, 6)":
        ("none", "sleepers-1", "sleepers-50", "sleepers-100"),
    "Periods that drift, many tasks": ("none", "drift-100", "sleepers-1000", "spread-1000"),
    "Synchronized low-priority tasks (paper: Figs 7, 8)":
        ("none", "sync-1", "sync-50", "sync-100"),
    "1,000 synchronized low-priority tasks": ("none", "sync-1000"),
    "Unprivileged timers (paper: Figs 9, 10)":
        ("none", "timerfds-100", "timerfds-1000", "posix-500", "threads-200"),
    "Jobs that fall on ticks, period 1.037 ms":
        ("phase-none", "phase-drift-100", "phase-timerfds-1000", "phase-hogs-2"),
    "The paper's job, 200 µs of matrix multiplications, and its processes of cyclictest":
        ("paper-none", "paper-cyclictest-50", "paper-cyclictest-100"),
}
EXPERIMENT = ResponseTime()
