# SPDX-License-Identifier: GPL-2.0-or-later
"""Response time of a 1 kHz SCHED_FIFO 99 job beside timers of lower-ranking tasks.

The paper's section IV-C: unsynchronized releases (Figs 5, 6), synchronized ones (Figs 7, 8)
and unprivileged timers (Figs 9, 10; Table II).
"""

from dataclasses import dataclass

from lab.experiments import base, response_goals, response_section
from lab.experiments.base import Context, Goal, Scenario
from lab.report_page import Section
from lab.results import Store
from lab.systems import System, host_modes

PROGRAM = "response"
ROUNDS = {"x86_64": 3750, "arm64": 5000}
"""Work of a job in a guest, about 300 us at one instruction a nanosecond. It is fixed, not
calibrated, so that all kernels are given exactly the same."""


@dataclass(frozen=True)
class Load:
    """A scenario before the number of jobs is known."""

    name: str
    title: str
    load: str = ""
    extra: tuple[str, ...] = ()


LOADS = (
    Load("none", "no load"),
    *(Load(f"sleepers-{n}", f"{n} FIFO-70 sleeper{'s' * (n > 1)}, unsynchronized",
           f"sleepers:n={n}") for n in (1, 50, 100)),
    Load("spread-100", "100 sleepers over 90 priorities", "sleepers:n=100,spread"),
    Load("drift-100", "100 FIFO-70 sleepers, drifting", "sleepers:n=100,periods=drift"),
    Load("sleepers-1000", "1,000 FIFO-70 sleepers, drifting",
         "sleepers:n=1000,periods=long+drift"),
    Load("spread-1000", "1,000 sleepers over 90 priorities, drifting",
         "sleepers:n=1000,spread,periods=long+drift"),
    *(Load(f"sync-{n}", f"{n} FIFO-70 sleeper{'s' * (n > 1)}, synchronized",
           f"sleepers:n={n},sync") for n in (1, 50, 100)),
    Load("sync-spread-100", "100 sleepers over 90 priorities, synchronized",
         "sleepers:n=100,sync,spread"),
    Load("sync-1000", "1,000 FIFO-70 sleepers, synchronized",
         "sleepers:n=1000,sync,periods=long"),
    Load("timerfds-100", "one unprivileged process, 100 timerfds", "timerfds:n=100"),
    Load("timerfds-1000", "one unprivileged process, 1,000 timerfds", "timerfds:n=1000"),
    Load("posix-500", "one unprivileged process, 500 POSIX timers", "posix-timers:n=500"),
    Load("itimers-100", "100 unprivileged processes, interval timers", "itimers:n=100"),
    Load("threads-200", "200 unprivileged sleeping threads", "threads:n=200"),
    Load("spare-none", "no load, spare time counted", "", ("--spare",)),
    Load("spare-100", "100 FIFO-70 sleepers, drifting, spare time counted",
         "sleepers:n=100,periods=drift", ("--spare",)),
    Load("spare-spread-100", "100 sleepers over 90 priorities, drifting, spare time counted",
         "sleepers:n=100,spread,periods=drift", ("--spare",)),
    Load("spare-spread-1000", "1,000 sleepers over 90 priorities, drifting, spare time counted",
         "sleepers:n=1000,spread,periods=long+drift", ("--spare",)),
    Load("matrix-none", "no load, matrix multiplications", "", ("--matrix=300000",)),
    Load("matrix-timerfds-1000", "1,000 timerfds, matrix multiplications", "timerfds:n=1000",
         ("--matrix=300000",)),
)

DEMO = ("none", "drift-100", "sync-100", "timerfds-1000", "posix-500", "threads-200")
"""What ``make demo`` shows."""


def scenarios(context: Context, rounds: str) -> list[Scenario]:
    """The scenarios that the user asked for."""
    chosen = [load for load in LOADS if not context.only or load.name in context.only]
    result = []
    for load in chosen:
        words = [f"--jobs={context.jobs}", f"--work={rounds}", f"--cpu={context.cpu}"]
        if load.load:
            words.append(f"--load={load.load}")
        timeout = 10 + 4 * context.jobs // 1000
        result.append(Scenario(load.name, load.title, (*words, *load.extra), timeout))
    return result


class ResponseTime(base.Experiment):
    """See the module."""

    name = "response-time"
    title = "Response time of a high-priority task beside lower-priority timers"

    def run(self, context: Context) -> None:
        if context.host:
            rounds = base.calibrate_on_host(PROGRAM)
            base.run_host(context, self.name, host_modes(), PROGRAM,
                          scenarios(context, rounds))
            return
        for arch in ("x86_64", "arm64"):
            systems = [System(p, m) for p in context.platforms for m in context.modes
                       if p.startswith(arch)]
            if systems:
                base.run_guest(context, self.name, systems, PROGRAM,
                               scenarios(context, str(ROUNDS[arch])))

    def goals(self, store: Store) -> list[Goal]:
        return response_goals.goals(store)

    def section(self, store: Store) -> Section:
        return response_section.section(self.title, self.name, store, LOADS_BY_GROUP)


LOADS_BY_GROUP: dict[str, tuple[str, ...]] = {
    "Unsynchronized low-priority tasks (paper: Figs 5, 6)":
        ("none", "sleepers-1", "sleepers-50", "sleepers-100"),
    "Periods that drift, many tasks": ("none", "drift-100", "sleepers-1000", "spread-1000"),
    "Synchronized low-priority tasks (paper: Figs 7, 8)":
        ("none", "sync-1", "sync-50", "sync-100", "sync-1000"),
    "Unprivileged timers (paper: Figs 9, 10)":
        ("none", "timerfds-100", "timerfds-1000", "posix-500", "threads-200"),
}
EXPERIMENT = ResponseTime()
