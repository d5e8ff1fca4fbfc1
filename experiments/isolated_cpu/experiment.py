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
from experiments.isolated_cpu.section import FIGURE_1, Found, find, parts, responses
from experiments.report.claims import Claim
from experiments.report.page import Part
from experiments.report.stats import Summary, summarize
from lab.measure.results import Measured, Store
from lab.measure.systems import Mode, System

FIGURES_2_3 = "Figs 2, 3: 107 and 323 ms"
PROGRAM = "isolated_cpu"
SAMPLES = 32768
"""Of each scenario; with fewer a 99.99th percentile is the maximum, and nothing is judged."""
RATIO = 45
"""Of the 99.99th percentiles without isolation and with it: the article's, of maxima."""
LATE_NS = 500_000
LATE_SHARE = 0.01
"""The article: fewer than 1 % of the responses above 200 µs, thousands above 500 µs."""
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
SOFTIRQS = (
    ("softirqs", "packets steered to both CPUs, files made and removed, not isolated",
     ("--load=softirqs",)),
    ("softirqs-isolated", "packets steered to both CPUs, files made and removed, CPU 0 isolated",
     ("--load=softirqs", "--isolate")),
)
"""What is slow on today's kernels; only Debian's can steer packets."""
HPET = ("-machine", "hpet=on", "-global", "hpet.hpet-intcap=0xff0104")


def possible(system: System) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Of the scenarios those that its kernel can run."""
    where = system.platform
    if not where or not where.debian:
        return SCENARIOS
    # Debian's kernels change their preemption; from 7.0 on there is but full and lazy
    dynamic = where.flavour == "preempt" and where.linux in DYNAMIC
    return (SCENARIOS + SOFTIRQS + (DEVICE if where.arch == "x86_64" else ())
            + (PREEMPTION if dynamic else ()))


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


def enough(*summaries: Summary) -> bool:
    """Whether there are the responses that a judgement takes."""
    return min(s.count for s in summaries) >= SAMPLES


def preemption(system: Measured) -> Claim:
    """Whether a kernel that is never preempted is as slow as the article has it."""
    found = {how: summarize(responses(system, f"kernel-{how}"))
             for how in ("none", "voluntary", "full")}
    longer = (found["none"].p9999 > found["voluntary"].p9999 > found["full"].p9999)
    return Claim(
        "Not isolated, the less a kernel is preempted, the longer the 99.99th percentile of the "
        "responses", system.system.place,
        "preempt=" + ", ".join(f"{how} {s.p9999 / 1000:,.1f} µs" for how, s in found.items())
        + f" of {min(s.count for s in found.values()):,} responses",
        longer if enough(*found.values()) else None, FIGURES_2_3)


def factor(found: Found, text: str, place: str) -> Claim:
    """What isolation does to the slowest responses but one in 10,000."""
    ratio = found.open.p9999 / found.isolated.p9999
    return Claim(f"{text}: isolation makes the 99.99th percentile at least {RATIO} times shorter",
                 place,
                 f"{found.open.p9999 / 1000:.1f} µs without, {found.isolated.p9999 / 1000:.1f} µs "
                 f"with it: {ratio:.1f} times, of {found.isolated.count:,} responses",
                 ratio >= RATIO if enough(found.open, found.isolated) else None, FIGURE_1)


def late(system: Measured) -> Claim:
    """How many responses are as late as the article has them."""
    samples = responses(system, "kernel")
    count = int((samples > LATE_NS).sum())
    return Claim(f"Not isolated, up to {LATE_SHARE:.0%} of the responses are later than "
                 f"{LATE_NS / 1000:g} µs", system.system.place,
                 f"{count:,} of {len(samples):,}",
                 0 < count <= LATE_SHARE * len(samples) if len(samples) >= SAMPLES else None,
                 "Fig 1: thousands of 300,000, less than 1 %")


def quiet(found: Found, text: str, place: str) -> Claim:
    """Whether nothing foreign came to the isolated CPU."""
    return Claim(
        f"{text}: no foreign task, no interrupt of a device and no packet on the isolated CPU "
        "after the first millisecond", place,
        "; ".join(f"{word} {isolated:,}, without isolation {there:,}"
                  for word, isolated, there in found.visits) + f"; {found.lost} events lost",
        found.lost == 0 and not any(isolated for _, isolated, _ in found.visits))


class IsolatedCpu(Experiment):
    """See the module."""

    name = "isolated-cpu"
    title = "Response to an interrupt on an isolated CPU"
    guests_only = "its load would take this machine"

    def scenarios(self) -> dict[str, str]:
        return {name: title for name, title, _ in SCENARIOS + SOFTIRQS + DEVICE + PREEMPTION}

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
            if system.has("kernel"):
                result.append(late(system))
            for name, text in (("kernel", "The article's load"), ("device", "A device's interrupt"),
                               ("softirqs", "Steered packets and RCU's work")):
                if found := find(system, name):
                    result.append(factor(found, text, place))
                    result.append(quiet(found, text, place))
        return result

    def parts(self, store: Store) -> list[Part]:
        return parts(store)


EXPERIMENT = IsolatedCpu()
