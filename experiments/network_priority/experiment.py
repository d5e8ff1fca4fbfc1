# SPDX-License-Identifier: GPL-2.0-or-later
"""Network interrupts by priority, the TimerShield paper's last open future work.

Without a change of the kernel: packets are processed by threads (threaded NAPI), and these have a
priority below the job's.
"""

import numpy as np

from experiments.common import running, runs
from experiments.common.claims import EACH, Claim, Found
from experiments.common.experiment import Context, Experiment, Scenario
from experiments.report.page import Part, Table, Text
from lab.errors import LabError
from lab.measure.results import Measured, Store
from lab.measure.systems import Mode, System

PROGRAM = "network_priority"
BELOW, ABOVE = 40, 90
JOB = 80
SCENARIOS = (
    ("none", "no packets", "none"),
    ("softirq", "packets, processed by softirqs", "flood"),
    ("below", f"packets, processed by a thread of FIFO {BELOW}, below the job", str(BELOW)),
    ("above", f"packets, processed by a thread of FIFO {ABOVE}, above the job", str(ABOVE)),
)
ARRIVE_US = 137
"""Packets are held back by QEMU and come in at multiples of that: also while the job runs, when
the task that sends them does not."""
CARDS = (
    "-netdev", "hubport,id=a,hubid=1", "-device", "virtio-net-pci,netdev=a,mac=52:54:00:00:00:01",
    "-netdev", "hubport,id=b,hubid=1", "-device", "virtio-net-pci,netdev=b,mac=52:54:00:00:00:02",
    "-object", f"filter-buffer,id=held,netdev=a,interval={ARRIVE_US}",
)
DRIVERS = ("failover", "net_failover", "virtio_net")


def _mean(system: Measured, scenario: str, column: str) -> float:
    """Of a job's."""
    return float(np.mean(system.table(scenario, "jobs")[column]))


def _taken(system: Measured) -> Found | None:
    if not all(system.has(s) for s in ("none", "softirq", "below")):
        return None
    idle = _mean(system, "none", "response_ns")
    taken = {s: _mean(system, s, "stolen_ns") for s in ("softirq", "below")}
    words = {s: f"{ns / 1000:.2f} µs, mean response "
                f"{(_mean(system, s, 'response_ns') - idle) / 1000:+.2f} µs"
             for s, ns in taken.items()}
    return Found(f"a job {words['below']}; by softirqs {words['softirq']}",
                 taken["below"] / taken["softirq"])


class NetworkPriority(Experiment):
    """See the module."""

    name = "network-priority"
    title = "Network interrupts by priority"
    guests_only = "it takes two network cards that are connected"
    on_request = True    # one of Debian's kernels
    claims = (Claim(
        "Interruptions by a flood of packets take at most {:.0%} of the time if threads below the "
        "job process them", _taken, most=0.2, rows="TS", of=EACH,
        paper="Slides: future work, network interrupts by priority"),)

    def scenarios(self) -> dict[str, str]:
        return {name: title for name, title, _ in SCENARIOS}

    def run(self, context: Context) -> None:
        systems = [System(p, Mode.STOCK) for p in context.platforms if p.debian]
        if not systems:
            raise LabError(f"{self.name} needs one of Debian's kernels, which have the driver: "
                           "--kernels debian12/6.12")
        running.run_guest(context, self.name, systems, PROGRAM, [
            Scenario(name, title, (word, f"--jobs={context.jobs}", f"--priority={JOB}",
                                   f"--work={runs.ROUNDS['x86_64']}"),
                     30 + 4 * context.jobs // 1000, tools=("timershield", runs.PROGRAM))
            for name, title, word in SCENARIOS if context.wants(name)],
            options=CARDS, drivers=DRIVERS)

    def parts(self, store: Store) -> list[Part]:
        result: list[Part] = [Text(
            f"A SCHED_FIFO {JOB} task works 300 µs of every millisecond. An ordinary task sends "
            "packets by one virtio network card; they come in by another, also while the job runs. "
            "'timershield isolate' gives them to a thread (threaded NAPI) below or above the job. "
            "What is left is the hard interrupt, which wakes that thread.")]
        for system in store:
            rows = []
            for scenario in system.scenarios:
                jobs = system.table(scenario, "jobs")
                rows.append([system.titles[scenario],
                             *(f"{np.percentile(jobs['response_ns'], p) / 1000:.2f}"
                               for p in (50, 99, 100)),
                             f"{_mean(system, scenario, 'stolen_ns') / 1000:.2f}",
                             f"{_mean(system, scenario, 'interruptions'):.2f}",
                             f"{len(jobs['due_ns']):,}"])
            result += [Text(f"{system.system.place}: {system.meta['kernel']}"), Table(
                ["packets", "p50", "p99", "max", "taken", "interruptions", "jobs"], rows,
                "Response times of the job in µs, from its release; what interruptions take of a "
                "job, and how many there are, on average.")]
        return result


EXPERIMENT = NetworkPriority()
