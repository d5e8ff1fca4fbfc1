# SPDX-License-Identifier: GPL-2.0-or-later
"""Running the control loop: what several experiments have in common."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.common import running
from experiments.common.experiment import Context, Scenario, run_all
from experiments.measure.systems import host_modes
from lab.kernels.arch import own

PROGRAM = "control_loop"
ROUNDS = {"x86_64": 3750, "arm64": 5000}
"""Work of a job in a guest, about 300 us at one instruction a nanosecond. It is fixed, not
calibrated, so that all kernels are given exactly the same."""


@dataclass(frozen=True)
class Load:
    """A scenario before the number of jobs is known."""

    name: str
    title: str
    load: str = ""
    """One load, or several with a blank between."""
    extra: tuple[str, ...] = ()
    off: bool = True
    """Whether it is run with the shield switched off, too."""
    tools: tuple[str, ...] = ()
    """Programs of this machine that it calls; without them, or in a guest of another
    architecture, it is not run unless the user names it."""


def scenarios(context: Context, loads: Sequence[Load], rounds: int, arch: str) -> list[Scenario]:
    """The scenarios that the user asked for."""
    result = []
    for load in loads:
        there = arch == own().name and all(Path(tool).exists() for tool in load.tools)
        if not context.wants(load.name, there or not load.tools):
            continue
        words = [f"--jobs={context.jobs}", f"--work={rounds}", f"--cpu={context.cpu}"]
        words += [f"--load={word}" for word in load.load.split()]
        timeout = 10 + 4 * context.jobs // 1000
        result.append(Scenario(load.name, load.title, (*words, *load.extra), timeout,
                               tools=load.tools))
    return result


def run(context: Context, experiment: str, loads: Sequence[Load], *,
        work_factor: int = 1) -> None:
    """Run ``loads`` on every platform and mode, or on this machine."""
    if context.host:
        modes = host_modes(context.modes)
        rounds = int(running.calibrate_on_host(PROGRAM)) * work_factor
        wanted = scenarios(context, loads, rounds, own().name)
        running.run_host(context, experiment, modes, PROGRAM, wanted)
        return
    with_off = [load for load in loads if load.off]
    calls = []
    for arch in ("x86_64", "arm64"):
        for chosen, which in (
            (context.systems(arch, off=False), loads),
            ([s for s in context.systems(arch) if s.mode == "off"], with_off),
        ):
            wanted = scenarios(context, which, ROUNDS[arch] * work_factor, arch)
            if chosen and wanted:
                calls.append(functools.partial(
                    running.run_guest, context, experiment, chosen, PROGRAM, wanted))
    run_all(calls)
