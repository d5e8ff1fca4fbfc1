# SPDX-License-Identifier: GPL-2.0-or-later
"""Response to a 2,048 Hz interrupt on a CPU that is isolated from a heavy load, and on one that
is not.

Figure 1 of S. Brosky, "Shielded CPUs: Real-Time Performance in Standard Linux" (Linux Journal,
2004).
"""

from experiments.common import running
from experiments.common.experiment import Context, Experiment, Scenario
from experiments.isolated_cpu.section import FIGURE_1, Found, find, parts
from lab.measure.results import Store
from lab.measure.systems import Mode, System
from lab.report.claims import Claim, Goal, judged
from lab.report.page import Part

PROGRAM = "isolated_cpu"
SAMPLES = 4096
RATIO = 5
"""The worst case without isolation must be at least so many times that with it."""
TURN = 5
"""µs that one virtual CPU executes at most before the other has its turn."""
SCENARIOS = (
    ("none", "no load, not isolated", ("--load=none",)),
    ("spin", "tasks that only compute, not isolated", ("--load=spin",)),
    ("kernel", "the article's load, not isolated", ("--load=kernel",)),
    ("kernel-shield", "the article's load, CPU 0 isolated", ("--load=kernel", "--shield")),
)


def scenarios(context: Context) -> list[Scenario]:
    """What the program is called with."""
    samples = context.samples(SAMPLES)
    return [
        Scenario(name, title, (f"--samples={samples}", *words), 30 + samples // 500,
                 tools=("timershield",))
        for name, title, words in SCENARIOS
        if context.wants(name)
    ]


def _goals(system: System, found: Found) -> list[Goal]:
    """What one system shows."""
    ratio = found.unshielded.maximum / found.shielded.maximum
    goals = []
    platform = system.place
    if system.platform is None or system.platform.flavour != "rt":
        goals.append(Goal(
            f"{platform}: the worst case with isolation is at most a fifth of that without",
            f"{found.shielded.maximum / 1000:.1f} µs, without "
            f"{found.unshielded.maximum / 1000:.1f} µs: {ratio:.1f} times",
            ratio >= RATIO,
        ))
    goals.append(Goal(
        f"{platform}: no foreign task and no interrupt of a device on the isolated CPU after "
        "the first millisecond",
        f"{found.foreign_tasks} switches to foreign tasks, {found.interrupts} interrupts "
        f"(without isolation: {found.unshielded_foreign:,} switches), {found.lost} events lost",
        found.foreign_tasks == found.interrupts == found.lost == 0,
    ))
    return goals


class IsolatedCpu(Experiment):
    """See the module."""

    name = "isolated-cpu"
    title = "Response to an interrupt on an isolated CPU"
    guests_only = "its load would take this machine"

    def scenarios(self) -> dict[str, str]:
        return {name: title for name, title, _ in SCENARIOS}

    def run(self, context: Context) -> None:
        # Timers are not shielded: what isolation gains is to be seen alone
        systems = [System(p, Mode.STOCK if p.debian else Mode.OFF, 2) for p in context.platforms]
        running.run_guest(context, self.name, systems, PROGRAM, scenarios(context), turn=TURN)

    def goals(self, store: Store) -> list[Goal]:
        goals = []
        for system in store:
            found = find(system)
            if found:
                goals += _goals(system.system, found)
        return goals

    def claims(self, store: Store) -> list[Claim]:
        rows = []
        for system in store:
            found = find(system)
            if not found:
                continue
            ratio = found.unshielded.maximum / found.shielded.maximum
            rows.append(Claim(
                f"{system.system.place}: worst response to an interrupt under load, "
                "without isolation and with it",
                FIGURE_1,
                f"{found.unshielded.maximum / 1000:.0f} µs against "
                f"{found.shielded.maximum / 1000:.1f} µs",
                f"{ratio:.0f} times",
                judged(ratio >= RATIO),
            ))
        return rows

    def parts(self, store: Store) -> list[Part]:
        return parts(store)


EXPERIMENT = IsolatedCpu()
