# SPDX-License-Identifier: GPL-2.0-or-later
"""A directory with the files of a machine, as --root takes it."""

import json
import os
import subprocess
from pathlib import Path

CPU = "sys/devices/system/cpu"
CGROUP = "sys/fs/cgroup"
GROUP = f"{CGROUP}/timershield"
SEVERITIES = ["bad", "warning", "unknown", "note", "good"]


class Machine:
    """Four CPUs, Linux 6.12, interrupts; no cgroups and no shield."""

    def __init__(self, directory: str, command: str, killer: str = "") -> None:
        self.root = Path(directory)
        self.command = command
        self.killer = killer
        self.ends = ""
        for path, text in {
            f"{CPU}/online": "0-3",
            f"{CPU}/possible": "0-3",
            "proc/version": "Linux version 6.12.0 #1 SMP PREEMPT",
            "proc/stat": "cpu  10 0 10 1000 0 0 0 0 0 0",
            "proc/sys/kernel/osrelease": "6.12.0",
            "proc/sys/kernel/random/boot_id": "00000000-1111-2222-3333-444444444444",
            "proc/irq/default_smp_affinity": "f",
        }.items():
            self.write(path, text)
        (self.root / "run").mkdir()

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")

    def read(self, path: str) -> str:
        return (self.root / path).read_text()

    def isolate_at_boot(self, cpus: str, more: str = "") -> None:
        """As with isolcpus= and ``more`` on the kernel's command line."""
        self.write("proc/cmdline", f"quiet isolcpus={cpus} {more}")
        self.write(f"{CPU}/isolated", cpus)

    def add_kernel_thread(self, tid: int, name: bytes, cpus: str) -> None:
        """One whose affinity only the kernel may change."""
        self.write(f"proc/{tid}/task/{tid}/status", f"Name:\tx\nCpus_allowed_list:\t{cpus}")
        (self.root / f"proc/{tid}/task/{tid}/stat").write_bytes(
            b"%d (%s) S 2 0 0 0 -1 69206016 0 0 0 0 0 0 0 0 20 0 1 0 123%s 0 0\n"
            % (tid, name, 17 * b" 0"))

    def policy(self, tid: int) -> "tuple[int, int]":
        """A task's policy and its real-time priority."""
        own, policy = self.read(f"proc/{tid}/task/{tid}/stat").split()[-2:]
        return int(policy), int(own)

    def add_cgroups(self) -> None:
        """cgroup v2, of which killer.c makes plain directories behave like groups."""
        for path, text in {
            "sys/devices/virtual/workqueue/cpumask": "f",
            "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
            "proc/irq/1/smp_affinity_list": "0-3",
            "proc/irq/2/smp_affinity_list": "1",
            "proc/irq/3/smp_affinity_list": "0,2",
            "proc/irq/4/smp_affinity_list": "1-2",
            f"{CGROUP}/cgroup.controllers": "cpuset cpu",
            f"{CGROUP}/cgroup.subtree_control": "",
            f"{CGROUP}/cgroup.procs": "",
        }.items():
            self.write(path, text)
        self.write("proc/sys/kernel/osrelease", "7.0.0")

    def start(self, verb: str, *words: str, kill_at: int = 0,
              gently: bool = False) -> "subprocess.Popen[str]":
        """Start a verb; it is killed before its change number ``kill_at``, from 1."""
        environment = dict(os.environ)
        if self.killer:
            environment["LD_PRELOAD"] = self.killer
            environment["ROOT"] = str(self.root)
            if self.ends:
                environment["ENDS"] = str(self.root / self.ends)
            environment["ASAN_OPTIONS"] = "verify_asan_link_order=0"
        if kill_at:
            environment["KILL_AT"] = str(kill_at)
        if gently:
            environment["KILL_GENTLY"] = "1"
        return subprocess.Popen([self.command, verb, "--root", str(self.root), *words],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=environment)

    def run(self, verb: str, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a verb and wait for its end."""
        process = self.start(verb, *words)
        out, err = process.communicate(timeout=300)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def status(self) -> "list[dict[str, str]]":
        """What status finds; it must be valid JSON, the worst first."""
        done = self.run("status", "--json")
        found: list[dict[str, str]] = json.loads(done.stdout)["findings"]
        ranks = [SEVERITIES.index(f["severity"]) for f in found]
        assert ranks == sorted(ranks), "not the worst first"
        return found

    def findings(self) -> "dict[str, dict[str, str]]":
        """The same by id; of several findings of one id the worst."""
        return {f["id"]: f for f in reversed(self.status())}
