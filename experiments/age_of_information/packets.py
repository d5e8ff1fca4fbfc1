# SPDX-License-Identifier: GPL-2.0-or-later
"""From what two nodes noted about packets to the age of information (the paper's Fig 1)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.measure.results import Table

DELIVERED = 1
Numbers = npt.NDArray[Any]


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


def timings(iterations: Table) -> list[str]:
    """The ways of timing, in the order in which they took turns."""
    return [str(t) for t in dict.fromkeys(iterations["timing"].tolist())]


def ages(packets: Table, iterations: Table, timing: str) -> Ages:
    """The ages of the packets of all iterations with this timing."""
    parts: list[tuple[Numbers, Numbers, Numbers]] = []
    lateness = []
    sent_packets = lost = 0
    for iteration in iterations["iteration"][iterations["timing"] == timing]:
        some = packets["iteration"] == iteration
        sent = packets["sent_ns"][some].astype(float)
        lateness.append(sent - packets["due_ns"][some])
        received = packets["received_ns"][some].astype(float)
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
