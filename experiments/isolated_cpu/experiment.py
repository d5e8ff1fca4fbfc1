# SPDX-License-Identifier: GPL-2.0-or-later
"""Response to a 2,048 Hz interrupt on a CPU that is isolated from a heavy load, and on one that
is not.

Figure 1 of S. Brosky, "Shielded CPUs: Real-Time Performance in Standard Linux" (Linux Journal,
2004).
"""

import functools
import itertools
from collections.abc import Sequence

from experiments.common import running
from experiments.common.experiment import Context, Experiment, Scenario, run_all
from experiments.isolated_cpu.section import FIGURE_1, Found, find, parts, worst_response
from experiments.report.claims import Claim
from experiments.report.page import Part
from lab.measure.results import Measured, Store
from lab.measure.systems import Mode, System

FIGURES_2_3 = "Figs 2, 3: 107 and 323 ms"
PROGRAM = "isolated_cpu"
SAMPLES = 4096
RATIO = 45
"""Of the worst cases without isolation and with it: the article's."""
TURN = 5
"""µs that one virtual CPU executes at most before the other has its turn."""
SCENARIOS = (
    ("none", "no load, not isolated", ("--load=none",)),
    ("spin", "tasks that only compute, not isolated", ("--load=spin",)),
    ("kernel", "the article's load, not isolated", ("--load=kernel",)),
    ("kernel-isolated", "the article's load, CPU 0 isolated", ("--load=kernel", "--isolate")),
)


PREEMPTION = tuple(
    (f"kernel-{how}", f"the article's load, not isolated, preempt={how}",
     ("--load=kernel", f"--preempt={how}")) for how in ("full", "voluntary", "none"))
"""The article's Figures 2 and 3: kernels without preemption."""
DYNAMIC = ("6.1", "6.12")
DEVICE = (
    ("device", "the article's load, a device's interrupt, not isolated",
     ("--load=kernel", "--device")),
    ("device-isolated", "the article's load, a device's interrupt, CPU 0 isolated",
     ("--load=kernel", "--device", "--isolate")),
)
"""The interrupt of the HPET, whose driver only Debian's kernels have."""
HPET = ("-machine", "hpet=on", "-global", "hpet.hpet-intcap=0xff0104")


def possible(system: System) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Of the scenarios those that its kernel can run."""
    where = system.platform
    if not where or not where.debian:
        return SCENARIOS
    # Debian's kernels change their preemption; from 7.0 on there is but full and lazy
    dynamic = where.flavour == "preempt" and where.linux in DYNAMIC
    return SCENARIOS + (DEVICE if where.arch == "x86_64" else ()) + (PREEMPTION if dynamic else ())


def scenarios(context: Context, chosen: Sequence[tuple[str, str, tuple[str, ...]]]
              ) -> list[Scenario]:
    """What the program is called with."""
    samples = SAMPLES * context.jobs // 1000
    return [
        Scenario(name, title, (f"--samples={samples}", *words), 30 + samples // 500,
                 tools=("timershield",))
        for name, title, words in chosen
        if context.wants(name)
    ]


def preemption(system: Measured) -> Claim:
    """Whether a kernel that is never preempted is as slow as the article has it."""
    worst = {how: worst_response(system, f"kernel-{how}") / 1000
             for how in ("none", "voluntary", "full")}
    return Claim(
        "Not isolated, a kernel without preemption has a longer worst response",
        system.system.place,
        "preempt=" + ", ".join(f"{how} {most:,.1f} µs" for how, most in worst.items()),
        worst["none"] > worst["full"], FIGURES_2_3)


def factor(found: Found, text: str, place: str) -> Claim:
    """What isolation does to the worst response."""
    ratio = found.open.maximum / found.isolated.maximum
    return Claim(f"{text} at least {RATIO} times shorter", place,
                 f"{found.open.maximum / 1000:.1f} µs without, "
                 f"{found.isolated.maximum / 1000:.1f} µs with it: {ratio:.1f} times",
                 ratio >= RATIO, FIGURE_1)


class IsolatedCpu(Experiment):
    """See the module."""

    name = "isolated-cpu"
    title = "Response to an interrupt on an isolated CPU"
    guests_only = "its load would take this machine"

    def scenarios(self) -> dict[str, str]:
        return {name: title for name, title, _ in SCENARIOS + DEVICE + PREEMPTION}

    def run(self, context: Context) -> None:
        # Timers are not shielded: what isolation gains is to be seen alone
        systems = [System(p, Mode.STOCK if p.debian else Mode.OFF, 2) for p in context.platforms]
        run_all([functools.partial(running.run_guest, context, self.name, list(which), PROGRAM,
                                   scenarios(context, chosen), turn=TURN,
                                   options=HPET if DEVICE[0] in chosen else ())
                 for chosen, which in itertools.groupby(sorted(systems, key=possible), possible)])

    def claims(self, store: Store) -> list[Claim]:
        result = []
        for system in store:
            if all(system.has(name) for name, *_ in PREEMPTION):
                result.append(preemption(system))
            place = system.system.place
            if device := find(system, "device"):
                result.append(factor(device, "A device's interrupt: isolation makes the worst "
                                     "response", place))
            found = find(system, "kernel")
            if not found:
                continue
            result.append(factor(found, "Isolation makes the worst response to an interrupt "
                                 "under load", place))
            result.append(Claim(
                "No foreign task and no interrupt of a device on the isolated CPU after the first "
                "millisecond", place,
                f"{found.foreign_tasks} switches to foreign tasks, {found.interrupts} interrupts "
                f"(without isolation: {found.open_foreign:,} switches), {found.lost} events lost",
                found.foreign_tasks == found.interrupts == found.lost == 0))
        return result

    def parts(self, store: Store) -> list[Part]:
        return parts(store)


EXPERIMENT = IsolatedCpu()
