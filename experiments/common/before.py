# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest does before it measures."""

from collections.abc import Sequence
from pathlib import Path

from experiments.measure.systems import SWITCH, System
from lab.kernels import guests

FAIR_SERVER = "/sys/kernel/debug/sched/fair_server/cpu{}/runtime"
"""The scheduler's guard against starvation: it wakes up once a second, in the middle of a job if
that is when a second has passed. Like real-time throttling it is switched off in guests, on stock
and shielded kernels alike, so that what is left is what tasks' timers do."""
WITHOUT_FAIR_SERVER = ("6.1",)
SETTLING = "3"
"""Seconds: a kernel of a distribution still sets itself up after it has started init."""


def before(system: System, modules: Sequence[Path], cpus: int) -> list[guests.Command]:
    """What a guest does before it measures."""
    commands = guests.loading(modules)
    if system.kernel.debian:
        commands.append(guests.Command(("@sleep", SETTLING)))
    if system.kernel.linux not in WITHOUT_FAIR_SERVER:
        commands += [guests.Command(("@write", FAIR_SERVER.format(cpu), "0"))
                     for cpu in range(cpus)]
    if system.unloads:
        commands.append(guests.unloading(modules[-1]))
    if system.switch is not None:
        commands.append(guests.Command(("@write", str(SWITCH), system.switch)))
    return commands
