# SPDX-License-Identifier: GPL-2.0-or-later
"""Response to a 2,000 Hz interrupt on a CPU that is isolated from a heavy load, and on one that
is not.

S. Brosky, "Shielded CPUs: Real-Time Performance in Standard Linux" (Linux Journal, 2004).
"""

import functools
import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from experiments.common import running
from experiments.common.claims import EACH, Claim, Found
from experiments.common.experiment import Context, Experiment, Scenario, run_all
from experiments.common.shown import Shown, column
from experiments.common.stats import Samples, percentile
from experiments.measure.results import Measured
from experiments.measure.systems import System
from lab.kernels.arch import own
from lab.kernels.platforms import Mode
from lab.kernels.toolchain import require

PROGRAM = "isolated_cpu"
SAMPLES = 32768
"""Of each scenario; with fewer nothing is judged. A 99.9th percentile has 32 beyond it."""
SLOW = 99.9
STRESS = "/usr/bin/stress-ng"
"""This machine's: guests are of its architecture."""
TURN = 5
"""µs that one virtual CPU executes at most before the other has its turn."""
KINDS = {"task": "foreign tasks", "irq": "interrupts"}
ENTRY = re.compile(r"^\{ \w+: +\d+(?:, \w+: (.*?))? *\} hitcount: +(\d+)", re.MULTILINE)
BOUND = re.compile(r"measured|hpet\d+|[\w]+/0(?:$|[:H].*)")
"""What may come to the isolated CPU: the measured task and device, and by their names the idle task
and the kernel's threads of that CPU.
"""
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
OPTIONS = ("-machine", "hpet=on", "-global", "hpet.hpet-intcap=0xff0104",
           "-cpu", f"{own().board[-1]},-cx16", "-m", "1024")
"""Before 8.0 QEMU loses flags in CMPXCHG16B: a double fault of the guest's kernel, now and then.
The load's files are in memory: 512 MB are not always enough.
"""


def possible(system: System) -> tuple[Chosen, ...]:
    """Of the scenarios those that its kernel can run; the HPET's driver only Debian's have."""
    where = system.platform
    if not where or not where.debian:
        return ()
    # from 7.0 on there is but full and lazy preemption
    return SCENARIOS + (PREEMPTION if where.flavour == "preempt" and where.linux in DYNAMIC else ())


def scenarios(context: Context, chosen: Sequence[Chosen]) -> list[Scenario]:
    """What the program is called with."""
    samples = SAMPLES * context.jobs // 1000
    return [
        Scenario(name, title, (f"--samples={samples}", *words), 30 + samples // 500,
                 tools=("timershield", STRESS))
        for name, title, words in chosen
        if context.wants(name)
    ]


def responses(system: Measured, scenario: str) -> Samples | None:
    """All that were measured, ns, if there are as many as a judgement takes."""
    if not system.has(scenario):
        return None
    samples: Samples = system.table(scenario, "samples")["response_ns"]
    return samples if len(samples) >= SAMPLES else None


def _preemption(system: Measured) -> Found | None:
    found = [responses(system, f"kernel-{how}") for how in ("none", "voluntary", "full")]
    slow = [percentile(samples, SLOW) / 1000 for samples in found if samples is not None]
    if len(slow) < len(found):
        return None
    none, voluntary, full = slow
    return Found(f"none {none:,.0f}, voluntary {voluntary:,.0f}, full {full:,.0f} µs",
                 none > voluntary > full)


def _later(limit_us: int) -> Callable[[Measured], Found | None]:
    """The share of responses that are later."""
    def metric(system: Measured) -> Found | None:
        samples = responses(system, "kernel")
        if samples is None:
            return None
        share = float((samples > limit_us * 1000).mean())
        return Found(f"{share:.2%} of {len(samples):,}", share)
    return metric


def _factor(system: Measured) -> Found | None:
    """What isolation does to the slowest responses but one in a thousand."""
    there, isolated = (responses(system, s) for s in ("kernel", "kernel-isolated"))
    if there is None or isolated is None:
        return None
    a, b = (percentile(s, SLOW) / 1000 for s in (there, isolated))
    return Found(f"{a:,.1f} → {b:,.1f} µs: {a / b:.1f} times", a / b)


def visits(system: Measured, scenario: str, kind: str) -> int | None:
    """How often a foreign ``kind`` came; ``None`` if the kernel cannot count them."""
    path = system.path / scenario / f"{kind}.hist"
    if not path.exists():
        return None
    text = path.read_text()
    lost = re.search(r"^ *Dropped: (\d+)", text, re.MULTILINE)
    return int(lost[1] if lost else 0) + sum(
        int(count) for name, count in ENTRY.findall(text) if not BOUND.fullmatch(name))


def _quiet(system: Measured) -> Found | None:
    found = {word: n for kind, word in KINDS.items()
             if (n := visits(system, "kernel-isolated", kind)) is not None}
    return Found(", ".join(f"{n:,} {word}" for word, n in found.items()),
                 sum(found.values())) if found else None


class IsolatedCpu(Experiment):
    """See the module."""

    name = "isolated-cpu"
    title = "Response to an interrupt on an isolated CPU"
    of = ("command/isolate", "command/lib")
    guests_only = "its load would take this machine"
    claims = (
        Claim("Not isolated, the less a kernel is preempted, the longer the 99.9th percentile of "
              "the responses", _preemption, least=True, of=EACH, rows="S13",
              paper="Figs 2, 3: 107 and 323 ms"),
        Claim("Not isolated, up to {:.0%} of the responses are later than 200 µs", _later(200),
              most=0.01, of=EACH, rows="S14", paper="Fig 1: less than 1 %"),
        Claim("Yet at least {:.2%} are later than 500 µs", _later(500), least=0.0033, of=EACH,
              rows="S16", paper="Fig 1: thousands of 300,000"),
        Claim("p99.9 at least {} times shorter if isolated", _factor, least=45, of=EACH,
              rows="S12", paper="Fig 1: 10 ms against 220 µs, 45 times"),
        Claim("Nothing foreign on the isolated CPU after 1 ms", _quiet, most=0, of=EACH),
    )
    shown = (Shown("response, ns", column("samples", "response_ns"),
                   (50, 95, 99, 99.9, 99.99, 100), drawn=("spin", "kernel", "kernel-isolated"),
                   paper={"the article, shielded: 220 µs": 220e3, "the article: 10 ms": 10e6}),)

    def scenarios(self) -> dict[str, str]:
        return {name: title for name, title, _ in SCENARIOS + PREEMPTION}

    def run(self, context: Context) -> None:
        require(Path(STRESS).name)
        systems = [System(p, Mode.STOCK, 2) for p in context.platforms
                   if p.arch == own().name == "x86_64" and p.debian]
        run_all([functools.partial(running.run_guest, context, self.name, list(which), PROGRAM,
                                   scenarios(context, chosen), turn=TURN, options=OPTIONS)
                 for chosen, which in itertools.groupby(sorted(systems, key=possible), possible)])


EXPERIMENT = IsolatedCpu()
