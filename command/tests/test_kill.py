# SPDX-License-Identifier: GPL-2.0-or-later
"""Killed before each of its changes, the command leaves nothing behind.

On a directory that looks like a machine. On a kernel tests/isolate.sh kills at random, and
runs many at once.
"""

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator

from machine import GROUP, Machine

COMMAND = ""
KILLER = ""


class KillMachine(Machine):
    """What its commands change is compared as a whole."""

    def do(self, verb: str, *words: str, kill_at: int = 0, gently: bool = False) -> int:
        """Run a verb; the exit status, or the signal as a negative number."""
        process = self.start(verb, *words, kill_at=kill_at, gently=gently)
        errors = process.communicate()[1]
        if process.returncode not in (0, -signal.SIGKILL, -signal.SIGINT):
            raise AssertionError(f"{verb} {words}: {process.returncode}: {errors}")
        return process.returncode

    def state(self) -> dict[str, str]:
        """Every file but the lock, and every directory."""
        return {str(path.relative_to(self.root)): path.read_text() if path.is_file() else ""
                for path in self.root.rglob("*")
                if path.name not in ("lock", "timershield") or path.parent.name == "cgroup"}


class StateTest(unittest.TestCase):
    """The state is compared with what it was before."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.machine = KillMachine(directory.name, COMMAND, KILLER)
        self.machine.add_cgroups()
        self.before = self.machine.state()

    def check_undone(self, why: str) -> None:
        self.assertEqual(self.machine.do("unisolate"), 0)
        self.assertEqual(self.machine.state(), self.before, why)


class KillTest(StateTest):
    """Each verb, killed before each of its changes."""

    def test_it_changes_something(self) -> None:
        self.machine.do("isolate", "1")
        state = self.machine.state()
        self.assertEqual(state["proc/irq/1/smp_affinity_list"], "0,2-3\n")
        self.assertEqual(state["proc/irq/2/smp_affinity_list"], "1\n")
        self.assertEqual(state["proc/irq/4/smp_affinity_list"], "2\n")
        self.assertEqual(state["proc/irq/default_smp_affinity"], "d\n")
        self.assertEqual(state["sys/devices/virtual/workqueue/cpumask"], "d\n")
        self.assertEqual(state[f"{GROUP}/cpuset.cpus"], "1\n")
        self.assertEqual(state[f"{GROUP}/cpuset.cpus.partition"], "isolated\n")
        self.check_undone("after unisolate")

    def kills(self, first: str, then: str) -> Iterator[str]:
        """Kill ``then`` before each of its changes, and once let it end; each is undone."""
        for number in range(1, 1000):
            self.machine.do(*first.split())
            ended = not self.machine.do(*then.split(), kill_at=number)
            why = f"{first}, {then} killed before change {number}"
            yield why
            if number % 3 == 1:
                self.machine.do("isolate", "3", "--irqs")
            self.check_undone(why)
            if ended:
                break
        self.assertGreater(number, 3)

    def test_killed(self) -> None:
        """
        Unbound work is never on isolated CPUs: else the kernel moves it itself, for a process that
        may be killed meanwhile.
        """
        for first, then in (("unisolate", "isolate 1"), ("isolate 1", "isolate --only 2"),
                            ("isolate 1", "isolate 2"), ("isolate 1-2", "unisolate 1"),
                            ("isolate 1", "unisolate"), ("isolate 1", "isolate --only --irqs 1")):
            for why in self.kills(first, then):
                self.check_unbound_work(why)

    def test_by_affinity(self) -> None:
        """Neither is there ever a cgroup."""
        for first, then in (("unisolate", "isolate 1 --by-affinity"),
                            ("isolate 1 --by-affinity", "unisolate")):
            for why in self.kills(first, then):
                self.assertFalse((self.machine.root / GROUP).exists(), why)

    def test_shield(self) -> None:
        """Killed at any change, the switch ends as it was, but not if it was changed since."""
        m = self.machine
        m.write("proc/sys/kernel/timershield", "0")
        m.write("one", "cpus = 1\ntimers = on")
        m.write("other", "cpus = none\ntimers = levels")
        self.before = m.state()
        for first, then in (("isolate --config=/one", "isolate --config=/other"),
                            ("isolate --config=/one", "unisolate"),
                            ("isolate --config=/other", "isolate --config=/one")):
            for _ in self.kills(first, then):
                pass
        m.do("isolate", "--config=/one")
        m.write("proc/sys/kernel/timershield", "2")
        m.do("unisolate")
        self.assertEqual(m.read("proc/sys/kernel/timershield"), "2\n")

    def test_rcu_is_raised(self) -> None:
        """While the partition changes its thread outranks all, and never in the end."""
        m = self.machine
        m.add_kernel_thread(50, b"rcuc/1", "1")
        m.write("one", "cpus = 1")
        self.before = m.state()
        for first, then, was in (("unisolate", "isolate 1", None),
                                 ("isolate --config=/one", "unisolate", "isolated\n")):
            self.assertIn((1, 99), {m.policy(50) for _ in self.kills(first, then)
                                    if m.state().get(f"{GROUP}/cpuset.cpus.partition") != was})

    def test_rcu_is_lowered_when_run_ends(self) -> None:
        """Even by Ctrl-C; the journal does not keep what it was raised from."""
        m = self.machine
        cpu = str(min(os.sched_getaffinity(0)))
        m.add_kernel_thread(50, b"rcuc/1", "1")
        m.do("isolate", cpu)
        m.write(f"{GROUP}/cpuset.cpus.effective", cpu)
        process = subprocess.Popen(["sleep", "600"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        pid = process.pid
        m.add_kernel_thread(pid, b"sleep", cpu)
        stat = m.root / f"proc/{pid}/task/{pid}/stat"
        stat.write_text(stat.read_text().replace("69206016", "0"))
        m.write(f"proc/{pid}/cgroup", "0::/")
        ended = False
        for number in range(1, 100):
            ended = not m.do("run", "-c", cpu, "-P", str(pid), kill_at=number, gently=True)
            self.assertEqual(m.policy(50), (0, 0), number)
            if ended:
                break
        self.assertTrue(ended and number > 3, number)
        self.assertNotIn("raised", m.read("run/timershield/journal"))

    def isolated(self) -> range:
        """The CPUs that the partition isolates."""
        state = self.machine.state()
        first, _, last = state.get(f"{GROUP}/cpuset.cpus", "").strip().partition("-")
        if not first or state[f"{GROUP}/cpuset.cpus.partition"] != "isolated\n":
            return range(0)
        return range(int(first), int(last or first) + 1)

    def check_unbound_work(self, why: str) -> None:
        mask = int(self.machine.read("sys/devices/virtual/workqueue/cpumask"), 16)
        self.assertFalse(any(mask >> cpu & 1 for cpu in self.isolated()), why)


if __name__ == "__main__":
    COMMAND, KILLER = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
