# SPDX-License-Identifier: GPL-2.0-or-later
"""What each layer gives to a 1 kHz job: ClockFix, TimerShield, a shielded CPU."""

from dataclasses import dataclass

from lab.claims import Claim
from lab.experiments import base, together_section
from lab.experiments.base import Context, Goal, Scenario
from lab.experiments.response_runs import ROUNDS
from lab.report_page import Section
from lab.results import Store
from lab.systems import System, host_modes

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
    Step("nanosleep", "clock_nanosleep beside hostile loads", LOADS),
    Step("clockfix", "ClockFix beside hostile loads", (*CLOCKFIX, *LOADS)),
)


def scenarios(context: Context, rounds: str) -> list[Scenario]:
    """The scenarios that the user asked for."""
    words = (f"--jobs={context.jobs}", f"--work={rounds}", f"--cpu={context.cpu}")
    return [Scenario(s.name, s.title, (*words, *s.words), 10 + 4 * context.jobs // 1000)
            for s in STEPS if not context.only or s.name in context.only]


class Together(base.Experiment):
    """See the module."""

    name = "together"
    title = "What each layer gives"

    def run(self, context: Context) -> None:
        if context.host:
            base.run_host(context, self.name, host_modes(), PROGRAM,
                          scenarios(context, base.calibrate_on_host("response")))
            return
        modes = [m for m in context.modes if m != "off"] or context.modes
        for arch in ("x86_64", "arm64"):
            systems = [System(p, m) for p in context.platforms for m in modes
                       if p.startswith(arch)]
            if systems:
                base.run_guest(context, self.name, systems, PROGRAM,
                               scenarios(context, str(ROUNDS[arch])))

    def goals(self, store: Store) -> list[Goal]:
        return together_section.goals(store)

    def claims(self, store: Store) -> list[Claim]:
        return together_section.claims(store)

    def section(self, store: Store) -> Section:
        return together_section.section(self.title, self.name, store)


EXPERIMENT = Together()
