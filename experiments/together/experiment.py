# SPDX-License-Identifier: GPL-2.0-or-later
"""What each layer gives to a 1 kHz job: ClockFix, TimerShield, an isolated CPU."""

import functools
from dataclasses import dataclass

from experiments.common import running
from experiments.common.experiment import Context, Experiment, Scenario, run_all
from experiments.response_loop import runs
from experiments.response_loop.runs import ROUNDS
from experiments.together import section
from lab.measure import spans
from lab.measure.results import Store
from lab.measure.spans import Span
from lab.measure.systems import System, host_modes
from lab.report.claims import Claim
from lab.report.page import Part

PROGRAM = "together"
CLOCKFIX = ("--clockfix",)
LOADS = ("--load=timerfds:n=1000", "--load=sleepers:n=100,sync", "--load=posix-timers:n=100",
         "--hogs=2")


@dataclass(frozen=True)
class Step:
    """A scenario before the number of jobs is known."""

    name: str
    title: str
    words: tuple[str, ...] = ()


STEPS = (
    Step("idle-nanosleep", "clock_nanosleep, nothing else runs"),
    Step("idle-clockfix", "ClockFix, nothing else runs", CLOCKFIX),
    Step("nanosleep", "clock_nanosleep next to hostile loads", LOADS),
    Step("clockfix", "ClockFix next to hostile loads", (*CLOCKFIX, *LOADS)),
)

CPUS = 2
TURN = 1
"""µs that a virtual CPU executes at most before the other has its turn."""
WORK_SHARE = 2
"""The job has half the work next to another CPU, which has half the time: it is to end before the
scheduler's tick, too."""
ISOLATED_STEPS = (
    Step("nanosleep-isolated", "clock_nanosleep, CPU 0 isolated, hostile loads",
         ("--isolate", *LOADS)),
    Step("clockfix-isolated", "ClockFix, CPU 0 isolated, hostile loads",
         (*CLOCKFIX, "--isolate", *LOADS)),
    Step("compute-isolated", "ClockFix, CPU 0 isolated, tasks that only compute",
         (*CLOCKFIX, "--isolate", "--spinners=4")),
)
EACH = tuple(
    Step(f"{name}-{kind}", f"{name}: ClockFix next to {kind}", (*words, f"--load={load}"))
    for name, words in (("clockfix", CLOCKFIX), ("isolated", (*CLOCKFIX, "--isolate")))
    for kind, load in section.ALONE.items()
)
"""The same next to one kind of load alone."""
TOOLS = ("timershield",)
"""What isolates a CPU."""
CALL = r"__(x64|arm64)_sys_"
SPANS = (Span("work", f"{CALL}getegid", until=f"{CALL}getpgid", through=spans.INTERRUPTS),)
"""What the kernel executes on the job's CPU while the job works: between two marks."""


def scenarios(context: Context, rounds: str) -> list[Scenario]:
    """The scenarios that the user asked for, on one CPU or a machine of its own."""
    words = (f"--jobs={context.jobs}", f"--work={rounds}", f"--cpu={context.cpu}")
    return [Scenario(s.name, s.title, (*words, *s.words), 10 + 4 * context.jobs // 1000)
            for s in STEPS if context.wants(s.name)]


def pair_scenarios(context: Context, rounds: int) -> list[Scenario]:
    """The same next to another CPU, on which the loads may run, too."""
    words = (f"--jobs={max(context.jobs // 2, 100)}", "--warmup=100",
             f"--work={rounds // WORK_SHARE}", "--anywhere")
    return [Scenario(s.name, s.title, (*words, *s.words), 10 + 4 * context.jobs // 1000,
                     tools=TOOLS)
            for s in STEPS + ISOLATED_STEPS + EACH if context.wants(s.name)]


class Together(Experiment):
    """See the module."""

    name = "together"
    title = "What each layer gives"

    def scenarios(self) -> dict[str, str]:
        return {s.name: s.title for s in STEPS + ISOLATED_STEPS + EACH}

    def run(self, context: Context) -> None:
        if context.host:
            running.run_host(context, self.name, host_modes(context.modes), PROGRAM,
                          scenarios(context, running.calibrate_on_host(runs.PROGRAM)))
            return
        context = context.without_off()
        calls = []
        for arch in ("x86_64", "arm64"):
            systems = context.systems(arch)
            wanted = scenarios(context, str(ROUNDS[arch]))
            if systems and wanted:
                calls.append(functools.partial(
                    running.run_guest, context, self.name, systems, PROGRAM, wanted))
            pairs = [System(s.platform, s.mode, CPUS) for s in systems]
            wanted = pair_scenarios(context, ROUNDS[arch])
            if pairs and wanted:
                calls.append(functools.partial(
                    running.run_guest, context, self.name, pairs, PROGRAM, wanted, SPANS, TURN))
        run_all(calls)

    def claims(self, store: Store) -> list[Claim]:
        return section.claims(store)

    def parts(self, store: Store) -> list[Part]:
        return section.parts(store)


EXPERIMENT = Together()
