# SPDX-License-Identifier: GPL-2.0-or-later
"""Age of information across a real-time datagram protocol, timed by ClockFix and by sleeping.

S. Reif, W. Schröder-Preikschat, "Precisely Timed Task Execution", section VI (Figs 1, 7 to 9).
"""

import functools
import os
import subprocess
import tempfile
from dataclasses import dataclass, replace

from experiments.age_of_information import section
from experiments.common import running
from experiments.common.experiment import Context, Experiment, Scenario, run_all
from experiments.report.claims import Claim
from experiments.report.page import Part
from lab.errors import LabError
from lab.kernels import guests
from lab.kernels.arch import own
from lab.kernels.kernels import Kernel
from lab.measure.results import Store
from lab.measure.systems import Mode, Platform, System

PROGRAM = "age_of_information"
ITERATIONS = 10
PACKETS = 1000
WARMUP = 500
TIMINGS = "nanosleep,clockfix,poll"
GUEST_TIMINGS = "nanosleep,clockfix"
"""Without polling: virtual CPUs that are always busy take far too many turns."""
GUEST_CPUS = 2
TURN = 100
"""µs that a virtual CPU, and that is a node, executes at most before the other has its turn."""

GUEST = Platform("x86_64", "preempt")
"""One guest is enough: what its kernel adds to a delay of milliseconds does not show."""


@dataclass(frozen=True)
class Link:
    """What is between the two nodes."""

    name: str
    title: str
    words: tuple[str, ...] = ()
    seconds: int = 60
    """At most, for all iterations."""
    warmup: int = WARMUP
    """Packets before those that count: some tens of round trips."""


HOST = (
    Link("ethernet", "virtual Ethernet, no limit"),
    Link("300-mbit", "300 Mbit/s", ("--rate=300000000",)),
    Link("100-mbit", "100 Mbit/s", ("--rate=100000000",)),
    Link("20-mbit", "20 Mbit/s", ("--rate=20000000",), 120),
    Link("100-mbit-schedule", "100 Mbit/s, sent by a fixed schedule",
         ("--rate=100000000", "--from-schedule")),
)
UPLINKS = (
    Link("uplink-40", "uplink of 40 Mbit/s, 4 ms, no loss",
         ("--rate=40000000", "--delay=4000000"), 300, 2000),
    Link("uplink-10", "uplink of 10 Mbit/s, 10 ms, 0.5 % loss",
         ("--rate=10000000", "--delay=10000000", "--loss=0.005"), 600, 1000),
)
"""As at home: fibre, and DSL on an ordinary day."""


@dataclass(frozen=True)
class Networked(System):
    """A lab kernel that has links between network namespaces."""

    @property
    def kernel(self) -> Kernel:
        return replace(super().kernel, feature="network")


def scenarios(context: Context, links: tuple[Link, ...], timings: str) -> list[Scenario]:
    """The scenarios that the user asked for."""
    words = (f"--timing={timings}", f"--iterations={ITERATIONS}",
             f"--packets={context.samples(PACKETS)}")
    return [Scenario(link.name, link.title,
                     (*words, f"--warmup={link.warmup}", *link.words), link.seconds)
            for link in links if context.wants(link.name)]


def _host_netem() -> bool:
    """Whether this machine's kernel can delay packets."""
    program = guests.build(own().name, [PROGRAM]) / PROGRAM
    with tempfile.TemporaryDirectory(prefix="timershield-") as name:
        done = subprocess.run(
            [program, "--delay=1000", "--iterations=1", "--packets=10", "--warmup=1"],
            cwd=name, capture_output=True, check=False)
    return done.returncode == 0


class AgeOfInformation(Experiment):
    """See the module."""

    name = "age-of-information"
    title = "Age of information in a real-time network protocol"

    def scenarios(self) -> dict[str, str]:
        return {link.name: link.title for link in HOST + UPLINKS}

    def run(self, context: Context) -> None:
        calls = [functools.partial(self._run_host, context)]
        if not context.host:
            calls.append(functools.partial(self._run_guest, context))
        run_all(calls)

    def _run_guest(self, context: Context) -> None:
        platform = GUEST if GUEST in context.platforms else context.platforms[0]
        system = Networked(platform, Mode.STOCK, GUEST_CPUS)
        uplinks = scenarios(context, UPLINKS, GUEST_TIMINGS)
        if uplinks:
            running.run_guest(context, self.name, [system], PROGRAM, uplinks, turn=TURN)

    def _run_host(self, context: Context) -> None:
        if os.geteuid():
            raise LabError("network namespaces and SCHED_FIFO need root: run this as root")
        links: tuple[Link, ...] = HOST
        if _host_netem():
            links += UPLINKS
        else:
            context.progress.step(f"{self.name}: this machine's kernel has no netem "
                                  "(CONFIG_NET_SCH_NETEM): uplinks are for the guests")
        chosen = scenarios(context, links, TIMINGS)
        if chosen:
            running.run_host(context, self.name, [Mode.STOCK], PROGRAM, chosen)

    def claims(self, store: Store) -> list[Claim]:
        return section.claims(store)

    def parts(self, store: Store) -> list[Part]:
        return section.parts(store)


EXPERIMENT = AgeOfInformation()
