# SPDX-License-Identifier: GPL-2.0-or-later
"""From what two nodes noted about packets to the age of information (the paper's Fig 1)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from experiments.age_of_information.clocks import Correction, Numbers, correction
from lab.measure.results import Table

DELIVERED = 1


@dataclass(frozen=True)
class Ages:
    """One value for each packet that was delivered between two others; ns."""

    inter_send: Numbers
    delivery: Numbers
    inter_receive: Numbers
    lateness: Numbers
    """Of all packets: sent after they were due."""
    packets: int
    """Sent."""
    lost: int
    """Lost, or came after the deadline."""

    @property
    def age(self) -> Numbers:
        """The greatest age that the information reaches at the receiver."""
        return self.inter_send + self.delivery + self.inter_receive


def _iterations(iterations: Table, timing: str, reverse: bool) -> list[int]:
    chosen = (iterations["timing"] == timing) & (iterations["reverse"] == int(reverse))
    return [int(i) for i in iterations["iteration"][chosen]]


def timings(iterations: Table) -> list[str]:
    """The ways of timing, in the order in which they took turns."""
    return [str(t) for t in dict.fromkeys(iterations["timing"].tolist())]


def _delivered(packets: Table, iterations: list[int]) -> npt.NDArray[np.bool_]:
    return np.asarray(np.isin(packets["iteration"], iterations)
                      & (packets["status"] == DELIVERED))


def seeming(packets: Table, iterations: Table, timing: str,
            reverse: bool = False) -> tuple[Numbers, Numbers]:
    """Dates on the first node's clock, and what delivery seemed to take."""
    some = _delivered(packets, _iterations(iterations, timing, reverse))
    date = packets["received_ns" if reverse else "sent_ns"][some]
    return date, packets["received_ns"][some] - packets["sent_ns"][some]


def clocks(packets: Table, iterations: Table) -> Correction:
    """The correction that the measured packets themselves allow."""
    names = timings(iterations)
    reverse = [seeming(packets, iterations, t, reverse=True) for t in names]
    return correction([seeming(packets, iterations, t) for t in names],
                      (np.concatenate([x for x, _ in reverse]),
                       np.concatenate([y for _, y in reverse])))


def ages(packets: Table, iterations: Table, timing: str, clock: Correction) -> Ages:
    """The ages of the packets of all forward iterations with this timing."""
    parts: list[tuple[Numbers, Numbers, Numbers]] = []
    lateness = []
    sent_packets = lost = 0
    for iteration in _iterations(iterations, timing, reverse=False):
        some = packets["iteration"] == iteration
        sent = packets["sent_ns"][some].astype(float)
        lateness.append(sent - packets["due_ns"][some])
        received = packets["received_ns"][some].astype(float)
        received -= clock.ahead(sent)
        good = np.flatnonzero(packets["status"][some] == DELIVERED)
        sent_packets += len(sent)
        lost += len(sent) - len(good)
        if len(good) < 2:
            continue
        this, following = good[:-1], good[1:]
        inside = this >= 1
        this, following = this[inside], following[inside]
        parts.append((sent[this] - sent[this - 1], received[this] - sent[this],
                      received[following] - received[this]))
    columns = [np.concatenate([p[i] for p in parts]) if parts else np.array([])
               for i in range(3)]
    return Ages(columns[0], columns[1], columns[2], np.concatenate(lateness), sent_packets, lost)
