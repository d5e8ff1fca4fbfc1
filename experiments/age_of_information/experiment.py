# SPDX-License-Identifier: GPL-2.0-or-later
"""Age of information across datagrams, timed by ClockFix, by sleeping and by polling.

S. Reif, W. Schröder-Preikschat, "Precisely Timed Task Execution", section VI (Figs 1, 7 and 9).
"""

import os

import numpy as np

from experiments.common import running
from experiments.common.claims import EACH, Claim, Found
from experiments.common.experiment import Context, Experiment, Scenario
from experiments.common.shown import Rows, Shown
from experiments.common.stats import Samples, percentile
from experiments.measure.results import Measured
from lab.errors import LabError
from lab.kernels.platforms import Mode
from lab.kernels.toolchain import require

PROGRAM = "age_of_information"
LINK, TITLE = "300-mbit", "300 Mbit/s, what the paper's Ethernet lets through"
ITERATIONS = 10
PACKETS = 1000
WARMUP = 500
BASELINE, OURS, LIMIT = "nanosleep", "clockfix", "poll"
PARTS = ("inter-send", "delivery", "inter-receive", "age")


def ages(system: Measured, scenario: str) -> dict[str, dict[str, Samples]]:
    """Way to wait -> part -> ns, of each packet that was delivered between two others.

    The greatest age that the information reaches is the sum of the parts (the paper's Fig 1).
    """
    packets, iterations = (system.table(scenario, n) for n in ("packets", "iterations"))
    found: dict[str, dict[str, list[Samples]]] = {}
    for number, timing in zip(iterations["iteration"], iterations["timing"].tolist(), strict=True):
        some = packets["iteration"] == number
        sent, received = (packets[c][some].astype(float) for c in ("sent_ns", "received_ns"))
        good = np.flatnonzero(packets["status"][some] == 1)
        this, following = good[:-1], good[1:]
        this, following = this[this >= 1], following[this >= 1]
        parts = [sent[this] - sent[this - 1], received[this] - sent[this],
                 received[following] - received[this]]
        parts.append(sum(parts, np.zeros(len(this))))
        for name, values in zip(PARTS, parts, strict=True):
            found.setdefault(timing, {}).setdefault(name, []).append(values)
    return {t: {p: np.concatenate(v) for p, v in parts.items()} for t, parts in found.items()}


def _rows(system: Measured, scenario: str) -> Rows:
    return {f"{timing}, {part}": samples for timing, parts in ages(system, scenario).items()
            for part, samples in parts.items()}


def _medians(system: Measured, part: str) -> dict[str, float] | None:
    """Way to wait -> the median in µs, if enough packets came through."""
    if not system.has(LINK):
        return None
    found = ages(system, LINK)
    if not all(len(parts[part]) for parts in found.values()):
        return None
    return {timing: percentile(parts[part], 50) / 1000 for timing, parts in found.items()}


def _age(system: Measured) -> Found | None:
    if not (found := _medians(system, "age")):
        return None
    ours, theirs = found[OURS], found[BASELINE]
    return Found(f"{ours:.1f} instead of {theirs:.1f} µs ({ours / theirs - 1:+.1%}), polling "
                 f"{found[LIMIT]:.1f} µs", ours / theirs)


def _delivery(system: Measured) -> Found | None:
    if not (found := _medians(system, "delivery")):
        return None
    return Found(f"{found[OURS]:.1f} instead of {found[BASELINE]:.1f} µs")


class AgeOfInformation(Experiment):
    """See the module."""

    name = "age-of-information"
    title = "Age of information in a real-time network protocol"
    of = ("clockfix/src", "clockfix/include")
    claims = (
        Claim("On a link like the paper's the median age of information is at most {:.0%} of "
              "clock_nanosleep's", _age, most=0.84, of=EACH, rows="C27",
              paper="Fig 9: median lower by more than 16 %"),
        Claim("Packets may take longer on their way with ClockFix, as the sender fills the link",
              _delivery, of=EACH, rows="C26", paper="Fig 9: delivery time slightly longer"),
    )
    shown = (Shown("what the age of information is made of, ns", _rows),)

    def scenarios(self) -> dict[str, str]:
        return {LINK: TITLE}

    def run(self, context: Context) -> None:
        if os.geteuid():
            raise LabError("network namespaces and SCHED_FIFO need root: run this as root")
        require("ip", "tc")
        if context.wants(LINK):
            words = (f"--iterations={ITERATIONS}", f"--packets={context.samples(PACKETS)}",
                     f"--warmup={WARMUP}")
            running.run_host(context, self.name, [Mode.STOCK], PROGRAM,
                             [Scenario(LINK, TITLE, words, 60)])


EXPERIMENT = AgeOfInformation()
