# SPDX-License-Identifier: GPL-2.0-or-later
"""Killed before each of its changes, the cgroup backend leaves nothing behind.

On a directory that looks like a machine; lab/guest/tests/shield_undo.c does it to a kernel.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COMMAND = ""
KILLER = ""
CGROUP = "sys/fs/cgroup"
GROUP = f"{CGROUP}/timershield"


class Machine:
    """Interrupts, workqueues and a cgroup tree."""

    def __init__(self, directory: str) -> None:
        self.root = Path(directory)
        for path, text in {
            "sys/devices/system/cpu/online": "0-3",
            "sys/devices/system/cpu/possible": "0-3",
            "sys/devices/virtual/workqueue/cpumask": "f",
            "proc/sys/kernel/osrelease": "6.12.0",
            "proc/sys/kernel/random/boot_id": "00000000-1111-2222-3333-444444444444",
            "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
            "proc/irq/default_smp_affinity": "f",
            "proc/irq/1/smp_affinity_list": "0-3",
            "proc/irq/2/smp_affinity_list": "1",
            "proc/irq/3/smp_affinity_list": "0,2",
            "proc/irq/4/smp_affinity_list": "1-2",
            f"{CGROUP}/cgroup.controllers": "cpuset cpu",
            f"{CGROUP}/cgroup.subtree_control": "",
            f"{CGROUP}/cgroup.procs": "",
        }.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text + "\n")
        (self.root / "run").mkdir()

    def run(self, *words: str, kill_at: int = 0) -> int:
        """Run a verb; the exit status, or the signal as a negative number."""
        process = self.start(*words, kill_at=kill_at)
        errors = process.communicate()[1]
        if process.returncode not in (0, -signal.SIGKILL):
            raise AssertionError(f"{words}: {process.returncode}: {errors}")
        return process.returncode

    def start(self, *words: str, kill_at: int = 0) -> "subprocess.Popen[str]":
        environment = {**os.environ, "LD_PRELOAD": KILLER,
                       "ASAN_OPTIONS": "verify_asan_link_order=0"}
        if kill_at:
            environment["KILL_AT"] = str(kill_at)
        return subprocess.Popen([COMMAND, words[0], "--root", str(self.root), *words[1:]],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                env=environment)

    def state(self) -> dict[str, str]:
        """Every file but the lock, and every directory."""
        return {str(path.relative_to(self.root)): path.read_text() if path.is_file() else ""
                for path in self.root.rglob("*")
                if path.name not in ("lock", "timershield") or path.parent.name == "cgroup"}


class KillTest(unittest.TestCase):
    """The state is compared with what it was before."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.machine = Machine(directory.name)
        self.before = self.machine.state()

    def check_undone(self, why: str) -> None:
        self.assertEqual(self.machine.run("unshield"), 0)
        self.assertEqual(self.machine.state(), self.before, why)

    def test_it_changes_something(self) -> None:
        self.machine.run("shield", "1")
        state = self.machine.state()
        self.assertEqual(state["proc/irq/1/smp_affinity_list"], "0,2-3\n")
        self.assertEqual(state["proc/irq/2/smp_affinity_list"], "1\n")
        self.assertEqual(state["proc/irq/4/smp_affinity_list"], "2\n")
        self.assertEqual(state["proc/irq/default_smp_affinity"], "d\n")
        self.assertEqual(state["sys/devices/virtual/workqueue/cpumask"], "d\n")
        self.assertEqual(state[f"{GROUP}/cpuset.cpus"], "1\n")
        self.assertEqual(state[f"{GROUP}/cpuset.cpus.partition"], "isolated\n")
        self.check_undone("after unshield")

    def test_killed_shield(self) -> None:
        for number in range(1, 1000):
            if not self.machine.run("shield", "1", kill_at=number):
                break
            self.check_undone(f"killed before change {number}")
        self.assertGreater(number, 15)

    def test_killed_change_and_unshield(self) -> None:
        for words in (("shield", "2"), ("unshield", "1"), ("unshield",),
                      ("shield", "--only", "--irqs", "1")):
            for number in range(1, 1000):
                self.machine.run("shield", "1")
                if not self.machine.run(*words, kill_at=number):
                    break
                if number % 3 == 1:
                    self.machine.run("shield", "3", "--irqs")
                self.check_undone(f"{words} killed before change {number}")
            self.assertGreater(number, 5)
            self.check_undone("at the end")

    def test_unbound_work_is_never_on_isolated_cpus(self) -> None:
        """Else the kernel moves it itself, for a process that may be killed meanwhile."""
        for first, then in (("unshield", "shield 1"), ("shield 1", "shield --only 2"),
                            ("shield 1", "shield 2"), ("shield 1-2", "unshield 1"),
                            ("shield 1", "unshield")):
            for number in range(1, 1000):
                self.machine.run(*first.split())
                ended = not self.machine.run(*then.split(), kill_at=number)
                self.check_unbound_work(f"{first}, {then} killed before change {number}")
                self.machine.run("unshield")
                if ended:
                    break
            self.assertGreater(number, 5)

    def check_unbound_work(self, why: str) -> None:
        state = self.machine.state()
        if state.get(f"{GROUP}/cpuset.cpus.partition") == "isolated\n":
            first, _, last = state[f"{GROUP}/cpuset.cpus"].partition("-")
            isolated = 1 << int(first) | 1 << int(last or first)
            mask = int(state["sys/devices/virtual/workqueue/cpumask"], 16)
            self.assertFalse(mask & isolated, why)

    def test_many_at_once(self) -> None:
        """Each takes its turn: none fails, and what the last one leaves can be undone."""
        for number in range(5):
            commands = [
                self.machine.start("shield", str(1 + i % 2)) if i % 3 else
                self.machine.start("unshield") for i in range(20)
            ]
            for command in commands:
                errors = command.communicate()[1]
                self.assertEqual(command.returncode, 0, errors)
            self.check_undone(f"round {number}")

    def test_random_sequences(self) -> None:
        pick = random.Random(20260101)
        lists = (("1",), ("2",), ("1-2",), ("--irqs", "1"), ("--procs", "3"), ("--only", "2"),
                 ("--only", "--irqs", "2"))
        for number in range(60):
            for _ in range(pick.randint(1, 4)):
                kill_at = pick.randint(1, 40) if pick.random() < 0.75 else 0
                verb = pick.choice(("shield", "shield", "unshield"))
                words = pick.choice(lists) if verb == "shield" else ()
                self.machine.run(verb, *words, kill_at=kill_at)
            self.check_undone(f"sequence {number}")


if __name__ == "__main__":
    COMMAND, KILLER = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
