# SPDX-License-Identifier: GPL-2.0-or-later
"""Age of information across a real-time datagram protocol, timed by ClockFix and by sleeping.

S. Reif, W. Schröder-Preikschat, "Precisely Timed Task Execution", section VI (Figs 1, 7 to 9).
"""

import os
from dataclasses import dataclass

from experiments.age_of_information import section
from experiments.common import running
from experiments.common.experiment import Context, Experiment, Scenario
from experiments.measure.results import Store
from experiments.report.page import Part
from lab.errors import LabError
from lab.kernels.platforms import Mode
from lab.kernels.toolchain import require

PROGRAM = "age_of_information"
ITERATIONS = 10
PACKETS = 1000
WARMUP = 500
"""Packets before those that count: some tens of round trips."""
TIMINGS = "nanosleep,clockfix,poll"


@dataclass(frozen=True)
class Link:
    """What is between the two nodes."""

    name: str
    title: str
    words: tuple[str, ...] = ()
    seconds: int = 60
    """At most, for all iterations."""


LINKS = (
    Link("ethernet", "virtual Ethernet, no limit"),
    Link("300-mbit", "300 Mbit/s", ("--rate=300000000",)),
    Link("100-mbit", "100 Mbit/s", ("--rate=100000000",)),
    Link("20-mbit", "20 Mbit/s", ("--rate=20000000",), 120),
)


def scenarios(context: Context) -> list[Scenario]:
    """The scenarios that the user asked for."""
    words = (f"--timing={TIMINGS}", f"--iterations={ITERATIONS}",
             f"--packets={context.samples(PACKETS)}", f"--warmup={WARMUP}")
    return [Scenario(link.name, link.title, (*words, *link.words), link.seconds)
            for link in LINKS if context.wants(link.name)]


class AgeOfInformation(Experiment):
    """See the module."""

    name = "age-of-information"
    title = "Age of information in a real-time network protocol"
    claims = section.CLAIMS
    choices = LINKS

    def run(self, context: Context) -> None:
        if os.geteuid():
            raise LabError("network namespaces and SCHED_FIFO need root: run this as root")
        require("ip", "tc")
        if chosen := scenarios(context):
            running.run_host(context, self.name, [Mode.STOCK], PROGRAM, chosen)

    def parts(self, store: Store) -> list[Part]:
        return section.parts(store)


EXPERIMENT = AgeOfInformation()
