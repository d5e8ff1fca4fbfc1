# SPDX-License-Identifier: GPL-2.0-or-later
"""Response to a 2,048 Hz interrupt on a CPU that is isolated from a heavy load, and on one that
is not.

Figure 1 of S. Brosky, "Shielded CPUs: Real-Time Performance in Standard Linux" (Linux Journal,
2004).
"""

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path

from experiments.common import running
from experiments.common.claims import EACH, Claim, Found
from experiments.common.experiment import Context, Experiment, Scenario, run_all
from experiments.isolated_cpu.section import find, parts, responses
from experiments.measure.results import Measured, Store
from experiments.measure.systems import System
from experiments.report.page import Part
from experiments.report.stats import Summary, summarize
from lab.kernels.arch import own
from lab.kernels.platforms import Mode
from lab.kernels.toolchain import require

PROGRAM = "isolated_cpu"
SAMPLES = 32768
"""Of each scenario; with fewer a 99.99th percentile is the maximum, and nothing is judged."""
LATE_NS = 500_000
STRESS = "/usr/bin/stress-ng"
"""This machine's: guests are of its architecture."""
TURN = 5
"""µs that one virtual CPU executes at most before the other has its turn."""
Chosen = tuple[str, str, tuple[str, ...]]
"""A scenario: its name, its title, and what the program is called with."""


def _pair(name: str, title: str, *words: str) -> tuple[Chosen, ...]:
    return ((name, f"{title}, not isolated", words),
            (f"{name}-isolated", f"{title}, CPU 0 isolated", (*words, "--isolate")))


SCENARIOS = (
    ("none", "no load, not isolated", ("--load=none",)),
    ("spin", "tasks that only compute, not isolated", ("--load=spin",)),
    *_pair("kernel", "the article's load", "--load=kernel"),
)
PREEMPTION = tuple(
    (f"kernel-{how}", f"the article's load, not isolated, preempt={how}",
     ("--load=kernel", f"--preempt={how}")) for how in ("full", "voluntary", "none"))
"""The article's Figures 2 and 3: kernels without preemption."""
DYNAMIC = ("6.1", "6.12")
DEVICE = _pair("device", "the article's load, a device's interrupt", "--load=kernel", "--device")
"""The interrupt of the HPET, whose driver only Debian's kernels have."""
SOFTIRQS = _pair("softirqs", "packets steered to both CPUs, files made and removed",
                 "--load=softirqs")
"""What is slow on today's kernels; only Debian's can steer packets."""
HPET = ("-machine", "hpet=on", "-global", "hpet.hpet-intcap=0xff0104")
NO_CX16 = ("-cpu", f"{own().board[-1]},-cx16")
"""Before 8.0 QEMU loses flags in CMPXCHG16B: a double fault of the guest's kernel, now and then."""


def possible(system: System) -> tuple[Chosen, ...]:
    """Of the scenarios those that its kernel can run."""
    where = system.platform
    if not where or not where.debian:
        return SCENARIOS
    # Debian's kernels change their preemption; from 7.0 on there is but full and lazy
    dynamic = where.flavour == "preempt" and where.linux in DYNAMIC
    return (SCENARIOS + SOFTIRQS + (DEVICE if where.arch == "x86_64" else ())
            + (PREEMPTION if dynamic else ()))


def scenarios(context: Context, chosen: Sequence[Chosen]) -> list[Scenario]:
    """What the program is called with."""
    samples = SAMPLES * context.jobs // 1000
    return [
        Scenario(name, title, (f"--samples={samples}", *words), 30 + samples // 500,
                 tools=("timershield", STRESS))
        for name, title, words in chosen
        if context.wants(name)
    ]


def _judged(value: float, *summaries: Summary) -> float | None:
    """If there are the responses that a judgement takes."""
    return value if min(s.count for s in summaries) >= SAMPLES else None


def _preemption(system: Measured) -> Found | None:
    if not all(system.has(name) for name, *_ in PREEMPTION):
        return None
    found = {how: summarize(responses(system, f"kernel-{how}"))
             for how in ("none", "voluntary", "full")}
    return Found(
        "preempt=" + ", ".join(f"{how} {s.p9999 / 1000:,.1f} µs" for how, s in found.items())
        + f" of {min(s.count for s in found.values()):,}",
        _judged(found["none"].p9999 > found["voluntary"].p9999 > found["full"].p9999,
                *found.values()))


def _late(system: Measured) -> Found | None:
    """How many responses are as late as the article has them."""
    if not system.has("kernel"):
        return None
    samples = responses(system, "kernel")
    share = float((samples > LATE_NS).mean())
    return Found(f"{share:.2%} of {len(samples):,}",
                 _judged(share or math.inf, summarize(samples)))


def _factor(name: str) -> Callable[[Measured], Found | None]:
    """What isolation does to the slowest responses but one in 10,000."""
    def metric(system: Measured) -> Found | None:
        if not (found := find(system, name)):
            return None
        ratio = found.open.p9999 / found.isolated.p9999
        return Found(f"{found.open.p9999 / 1000:.1f} → {found.isolated.p9999 / 1000:.1f} µs: "
                     f"{ratio:.1f} times, of {found.isolated.count:,}",
                     _judged(ratio, found.open, found.isolated))
    return metric


def _quiet(name: str) -> Callable[[Measured], Found | None]:
    def metric(system: Measured) -> Found | None:
        found = find(system, name)
        counted = [(w, n, there) for w, n, there in found.visits if n is not None] if found else []
        return Found("; ".join(f"{word} {there:,} → {n:,}" for word, n, there in counted),
                     sum(n for _, n, _ in counted)) if counted else None
    return metric


class IsolatedCpu(Experiment):
    """See the module."""

    name = "isolated-cpu"
    title = "Response to an interrupt on an isolated CPU"
    guests_only = "its load would take this machine"
    claims = (
        Claim("Not isolated, the less a kernel is preempted, the longer the 99.99th percentile of "
              "the responses", _preemption, least=True, of=EACH, rows="S13",
              paper="Figs 2, 3: 107 and 323 ms"),
        Claim("Not isolated, up to {:.0%} of the responses are later than 500 µs", _late,
              most=0.01, of=EACH, rows="S14", paper="Fig 1: thousands of 300,000, less than 1 %"),
        *(claim for name, text, rows in (("kernel", "The article's load", "S12"),
                                         ("device", "A device's interrupt", "S9"),
                                         ("softirqs", "Steered packets, RCU's work", ""))
          for claim in (
              Claim(text + ": p99.99 at least {} times shorter if isolated", _factor(name),
                    least=45, of=EACH, rows=rows, paper="Fig 1: 10 ms against 220 µs, 45 times"),
              Claim(text + ": nothing foreign on the isolated CPU after 1 ms", _quiet(name),
                    most=0, of=EACH))),
    )

    def scenarios(self) -> dict[str, str]:
        return {name: title for name, title, _ in SCENARIOS + SOFTIRQS + DEVICE + PREEMPTION}

    def run(self, context: Context) -> None:
        require(Path(STRESS).name)
        # Timers are not shielded: what isolation gains is to be seen alone
        systems = [System(p, Mode.STOCK if p.debian else Mode.OFF, 2) for p in context.platforms
                   if p.arch == own().name]
        run_all([functools.partial(running.run_guest, context, self.name, list(which), PROGRAM,
                                   scenarios(context, chosen), turn=TURN,
                                   options=(*(NO_CX16 if own().name == "x86_64" else ()),
                                            *(HPET if DEVICE[0] in chosen else ())))
                 for chosen, which in itertools.groupby(sorted(systems, key=possible), possible)])

    def parts(self, store: Store) -> list[Part]:
        return parts(store)


EXPERIMENT = IsolatedCpu()
