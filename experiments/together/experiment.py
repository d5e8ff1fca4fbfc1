# SPDX-License-Identifier: GPL-2.0-or-later
"""What each layer gives to a 1 kHz job: ClockFix, TimerShield, an isolated CPU."""

import functools
from dataclasses import replace

from experiments.common import running, runs
from experiments.common.claims import Claim
from experiments.common.experiment import Context, Experiment, Scenario, run_all
from experiments.common.runs import ROUNDS, Load
from experiments.measure import spans
from experiments.measure.results import Store
from experiments.measure.spans import Span
from experiments.measure.systems import System, host_modes
from experiments.report.page import Part
from experiments.together import section
from lab.kernels.arch import own

PROGRAM = "together"
CLOCKFIX = ("--clockfix",)
LOADS = ("--load=timerfds:n=1000", "--load=sleepers:n=100,sync", "--load=posix-timers:n=100",
         "--hogs=2")
STEPS = (
    Load("idle-nanosleep", "clock_nanosleep, nothing else runs"),
    Load("idle-clockfix", "ClockFix, nothing else runs", extra=CLOCKFIX),
    Load("nanosleep", "clock_nanosleep next to hostile loads", extra=LOADS),
    Load("clockfix", "ClockFix next to hostile loads", extra=(*CLOCKFIX, *LOADS)),
)

CPUS = 2
TURN = 1
"""µs that a virtual CPU executes at most before the other has its turn."""
WORK_SHARE = 2
"""The job has half the work next to another CPU, which has half the time: it is to end before the
scheduler's tick, too."""
ISOLATED_STEPS = (
    Load("nanosleep-isolated", "clock_nanosleep, CPU 0 isolated, hostile loads",
         extra=("--isolate", *LOADS)),
    Load("clockfix-isolated", "ClockFix, CPU 0 isolated, hostile loads",
         extra=(*CLOCKFIX, "--isolate", *LOADS)),
    Load("compute-isolated", "ClockFix, CPU 0 isolated, tasks that only compute",
         extra=(*CLOCKFIX, "--isolate", "--spinners=4")),
)
TOOLS = ("timershield",)
"""What isolates a CPU."""
CALL = r"__(x64|arm64)_sys_"
SPANS = (Span("work", f"{CALL}getegid", until=f"{CALL}getpgid", through=spans.INTERRUPTS),)
"""What the kernel executes on the job's CPU while the job works: between two marks."""


def pair_scenarios(context: Context, rounds: int, arch: str) -> list[Scenario]:
    """Next to another CPU, on which the loads may run, too."""
    fewer = replace(context, jobs=max(context.jobs // 2, 100))
    return [replace(s, words=(*s.words, "--warmup=100", "--anywhere"), tools=TOOLS)
            for s in runs.scenarios(fewer, STEPS + ISOLATED_STEPS, rounds // WORK_SHARE, arch)]


class Together(Experiment):
    """See the module."""

    name = "together"
    title = "What each layer gives"
    choices = STEPS + ISOLATED_STEPS
    claims = (
        Claim("With ClockFix and TimerShield the median start is at most {:.0%} as late as with "
              "neither", section.start, most=0.1, rows="C21", shield="2"),
        Claim("With all layers no job ends more than {} µs late", section.end, most=5, shield="2"),
    )

    def run(self, context: Context) -> None:
        if context.host:
            rounds = int(running.calibrate_on_host(runs.PROGRAM))
            running.run_host(context, self.name, host_modes(context.modes), PROGRAM,
                          runs.scenarios(context, STEPS, rounds, own().name))
            return
        context = context.without_off()
        calls = []
        for arch in ("x86_64", "arm64"):
            systems = context.systems(arch)
            wanted = runs.scenarios(context, STEPS, ROUNDS[arch], arch)
            if systems and wanted:
                calls.append(functools.partial(
                    running.run_guest, context, self.name, systems, PROGRAM, wanted))
            # what a job next to another CPU takes is counted, which needs symbols
            pairs = [System(s.platform, s.mode, CPUS) for s in systems if not s.kernel.debian]
            wanted = pair_scenarios(context, ROUNDS[arch], arch)
            if pairs and wanted:
                calls.append(functools.partial(
                    running.run_guest, context, self.name, pairs, PROGRAM, wanted, SPANS, TURN))
        run_all(calls)

    def parts(self, store: Store) -> list[Part]:
        return section.parts(store)


EXPERIMENT = Together()
