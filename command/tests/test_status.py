# SPDX-License-Identifier: GPL-2.0-or-later
"""What status finds out, on directories that look like a machine."""

import fcntl
import gzip
import json
import os
import pty
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import unittest
from typing import Any

from machine import CGROUP, CPU, GROUP, Machine

COMMAND = ""
KILLER = ""
CLOCK = "sys/devices/system/clocksource/clocksource0"
DEBUG = "sys/kernel/debug/sched"


def preloaded(**more: str) -> dict[str, str]:
    """The environment in which killer.c answers for the kernel."""
    return {**os.environ, "LD_PRELOAD": KILLER, "ASAN_OPTIONS": "verify_asan_link_order=0", **more}


class StatusTest(unittest.TestCase):
    """On a new machine each."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.machine = Machine(directory.name, COMMAND)

    def check(self, name: str, severity: str, *texts: str) -> str:
        """The finding called ``name`` has this severity and texts; what mends it."""
        found = self.machine.findings()[name]
        self.assertEqual(found["severity"], severity, found)
        for text in texts:
            self.assertIn(text, found["text"])
        return found["mend"]


class KernelTest(StatusTest):
    """The kernel and the machine."""

    def test_status_of_a_bare_machine(self) -> None:
        found = self.machine.findings()
        self.assertEqual(found["preemption"]["severity"], "good")
        self.assertEqual(found["timers"]["severity"], "warning")
        self.assertEqual(found["isolation"]["severity"], "warning")

    def test_status_names_what_is_bad(self) -> None:
        m = self.machine
        m.isolate_at_boot("3")
        m.write("proc/version", "Linux version 6.1.0 #1 SMP")
        m.write("proc/sys/kernel/osrelease", "6.1.0")
        m.write("proc/sys/kernel/timershield", "0")
        m.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet")
        m.write("sys/devices/system/clocksource/clocksource0/available_clocksource", "hpet")
        m.write(f"{CPU}/cpu3/cpuidle/state2/latency", "350")
        m.write(f"{CPU}/cpu3/cpuidle/state2/disable", "0")
        m.write(f"{CPU}/cpu3/cpuidle/state2/name", "C6")
        m.write(f"{CPU}/cpu3/cpufreq/scaling_governor", "powersave")
        m.write(f"{CPU}/cpu3/topology/thread_siblings_list", "1,3")
        m.write("proc/sys/kernel/sched_rt_runtime_us", "950000")
        m.write("proc/sys/kernel/sched_rt_period_us", "1000000")
        m.write("proc/77/task/77/stat", "77 (irqbalance) S 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0"
                                        " 20 0 1 0 123 0 0")
        m.write("proc/77/task/77/status", "Name:\tirqbalance\nCpus_allowed_list:\t0-3")
        found = m.findings()
        for name in ("preemption", "timers", "clocksource", "cstates", "siblings"):
            self.assertEqual(found[name]["severity"], "bad", name)
            self.assertTrue(found[name]["mend"], name)
        for name in ("governor", "throttling", "irqbalance"):
            self.assertEqual(found[name]["severity"], "warning", name)
        self.assertIn("cpu3/cpuidle/state2/disable", found["cstates"]["mend"])
        self.assertEqual(found["siblings"]["mend"], "timershield isolate 1")
        self.assertEqual(found["timers"]["mend"], "timershield timers on")
        m.write(f"{CPU}/cpu3/cpuidle/state2/disable", "1")
        m.write(f"{CPU}/cpu3/cpufreq/scaling_governor", "performance")
        m.write("proc/sys/kernel/sched_rt_runtime_us", "-1")
        found = m.findings()
        for name in ("cstates", "governor", "throttling"):
            self.assertEqual(found[name]["severity"], "good", name)

    def test_status_says_why_no_cpu_can_be_isolated(self) -> None:
        m = self.machine
        for line, mend in (("cpuset\t0\t1\t1", "mount -t cgroup2"),
                           ("cpuset\t3\t1\t1", "boot with cgroup_no_v1=cpuset"),
                           ("cpu\t0\t1\t1", "CONFIG_CPUSETS")):
            m.write("proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\n" + line)
            self.assertIn(mend, m.findings()["isolation"]["mend"], line)
            self.assertIn("isolate 3 --by-affinity", m.findings()["isolation"]["mend"])
            self.assertIn(mend, m.run("isolate", "1").stderr, line)
        m.write(f"{CPU}/online", "0")
        self.assertNotIn("isolate", m.findings())

    def test_status_counts_in_words(self) -> None:
        m = self.machine
        m.isolate_at_boot("3")
        m.add_kernel_thread(17, b"migration/3", "3")
        self.assertEqual(m.findings()["isolation"]["text"],
                         "CPU 3 is isolated from tasks. 1 task still has its place there (below).")
        m.isolate_at_boot("2-3")
        self.assertEqual(m.run("isolate", "--irqs", "2-3").returncode, 0)
        m.write(f"{CPU}/cpu2/topology/thread_siblings_list", "0,2")
        m.write(f"{CPU}/cpu3/topology/thread_siblings_list", "1,3")
        found = m.findings()
        self.assertIn("CPUs 2-3 are isolated from tasks and interrupts", found["isolation"]["text"])
        self.assertIn("CPUs 0-1 share a core with an isolated CPU and are not",
                      found["siblings"]["text"])
        self.assertIn("timershield unisolate", found["siblings"]["mend"])

    def test_dynamic_preemption_is_found_without_debugfs(self) -> None:
        m = self.machine
        m.write("proc/version", "Linux version 6.18.0 #1 SMP PREEMPT_DYNAMIC")
        m.write("proc/cmdline", "quiet")
        self.check("preemption", "unknown", "debugfs, its command line")
        with gzip.open(m.root / "proc/config.gz", "wb") as packed:
            packed.write(b"CONFIG_PREEMPT_BUILD=y\nCONFIG_PREEMPT_NONE=y\n"
                         b"# CONFIG_PREEMPT is not set\n")
        self.assertIn("preempt=full", self.check("preemption", "bad", "not preemptible"))
        for model, severity in (("none", "bad"), ("voluntary", "bad"), ("lazy", "good"),
                                ("full", "good")):
            m.write("proc/cmdline", f"quiet preempt={model}")
            self.check("preemption", severity)
        m.write("proc/cmdline", "quiet preempt=full")
        for line, severity in (("none (voluntary) full", "bad"), ("none voluntary (full)", "good"),
                               ("(none) voluntary full", "bad"), ("none full (lazy)", "good")):
            m.write(f"{DEBUG}/preempt", line)
            mend = self.check("preemption", severity)
            self.assertEqual("echo full >/sys" in mend, severity == "bad", line)
        m.write("proc/cmdline", "quiet preempt=none")
        (m.root / f"{DEBUG}/preempt").unlink()
        (m.root / f"{DEBUG}/preempt").mkdir()
        self.assertNotIn("echo full", self.check("preemption", "bad"))

    def test_configuration_beside_the_kernel(self) -> None:
        m = self.machine
        m.write("proc/version", "Linux version 6.18.0 #1 SMP PREEMPT_DYNAMIC")
        m.write("boot/config-6.12.0", "# a comment\nCONFIG_PREEMPT_VOLUNTARY=y")
        self.check("preemption", "bad", "voluntary")

    def test_throttling_and_fair_server_are_two_things(self) -> None:
        m = self.machine
        m.write("proc/sys/kernel/sched_rt_runtime_us", "950000")
        m.write("proc/sys/kernel/sched_rt_period_us", "1000000")
        self.check("throttling", "unknown", "configuration cannot be read")
        m.write("boot/config-6.12.0", "CONFIG_RT_GROUP_SCHED=y")
        self.assertIn("sched_rt_runtime_us=-1", self.check("throttling", "warning", "50 ms"))
        m.write("boot/config-6.12.0", "# CONFIG_RT_GROUP_SCHED is not set")
        self.check("throttling", "good")
        mend = self.check("fair_server", "unknown", "cannot be read")
        self.assertIn("debugfs" if os.geteuid() == 0 else "root", mend)
        m.write("sys/kernel/security/lockdown", "none integrity [confidentiality]")
        self.assertNotIn("debugfs", self.check("fair_server", "unknown", "locked down"))
        for cpu in range(4):
            m.write(f"{DEBUG}/fair_server/cpu{cpu}/runtime", "50000000")
            m.write(f"{DEBUG}/fair_server/cpu{cpu}/period", "1000000000")
        self.assertEqual(self.check("fair_server", "note", "the kernel warns"), "")
        m.write("proc/sys/kernel/osrelease", "7.0.0")
        mend = self.check("fair_server", "note", "CPUs 0-3 may take 50 ms of each 1000 ms")
        self.assertIn("cpu[0-9]*/runtime", mend)
        m.write(f"{DEBUG}/fair_server/cpu1/runtime", "0")
        self.assertIn("cpu{0,2,3}/runtime", self.check("fair_server", "note", "CPUs 0,2-3 may"))
        (m.root / f"{DEBUG}/fair_server/cpu1/runtime").unlink()
        (m.root / f"{DEBUG}/fair_server/cpu1/runtime").mkdir()
        self.check("fair_server", "unknown", "locked down")

    def test_what_cannot_be_read_is_unknown(self) -> None:
        """A finding must not vanish with its file."""
        m = self.machine
        found = m.findings()
        for name in ("clocksource", "resolution", "cstates", "governor", "siblings", "rtprio",
                     "fair_server", "throttling"):
            self.assertEqual(found[name]["severity"], "unknown", name)
            self.assertIn("unknown", found[name]["text"] + "unknown" * (name == "throttling"))
        self.assertEqual(m.run("isolate", "--irqs", "3").returncode, 0)
        self.check("interrupts", "unknown", "/proc/interrupts: No such file")
        m.write("proc/interrupts", "           CPU0       CPU1       CPU2       CPU3\n"
                                   "  1:          1          2          3          4  i8042")
        self.check("interrupts", "good", "CPU 3 took no interrupt")

    def test_clock(self) -> None:
        m = self.machine
        m.write(f"{CLOCK}/available_clocksource", "hpet")
        for source, severity, text in (("refined-jiffies", "bad", "with each tick only"),
                                       ("jiffies", "bad", "with each tick only"),
                                       ("hpet", "bad", "about a microsecond"),
                                       ("tsc", "good", "without leaving the CPU")):
            m.write(f"{CLOCK}/current_clocksource", source)
            self.check("clocksource", severity, text)
        m.write(f"{CLOCK}/current_clocksource", "acpi_pm")
        for available, mend in (("acpi_pm tsc", "echo tsc >"), ("tsc", "echo tsc >"),
                                ("tsc-early acpi_pm", "tsc=reliable"),
                                ("hyperv_clocksource_tsc_page acpi_pm", "tsc=reliable")):
            m.write(f"{CLOCK}/available_clocksource", available)
            self.assertIn(mend, self.check("clocksource", "bad"), available)
        m.write(f"{CLOCK}/current_clocksource", "tsc")
        self.assertIn("tsc=nowatchdog", self.check("clock_watchdog", "note"))
        m.write("proc/cmdline", "quiet tsc=nowatchdog")
        self.assertNotIn("clock_watchdog", m.findings())
        m.write("proc/cmdline", "quiet")
        m.write("proc/cpuinfo", "flags\t: fpu constant_tsc nonstop_tsc tsc_adjust")
        self.assertNotIn("clock_watchdog", m.findings())
        m.write("proc/timer_list", " clock 0:\n  .index:      0\n  .resolution: 1 nsecs")
        self.check("resolution", "good")
        m.write("proc/timer_list", " clock 0:\n  .index:      0\n  .resolution: 4000000 nsecs")
        self.check("resolution", "bad", "every 4 ms")

    def test_steered_clock(self) -> None:
        """The clock of this machine, of which killer.c changes what the kernel says."""
        for steered, ppm in (("10050 0 0", "5000 ppm fast"), ("10000 -13107200 0", "200 ppm slow"),
                             ("10000 3276800 400", "150 ppm fast"), ("10000 3276800 0", "")):
            environment = preloaded(STEERED=steered)
            done = subprocess.run([COMMAND, "status", "--json"], env=environment, check=True,
                                  capture_output=True, text=True, timeout=60)
            found = [f for f in json.loads(done.stdout)["findings"] if f["id"] == "clock_steered"]
            self.assertEqual(len(found), bool(ppm), steered)
            if ppm:
                self.assertEqual(found[0]["severity"], "note")
                self.assertIn(ppm, found[0]["text"])

    def test_virtual_machine_comes_first(self) -> None:
        m = self.machine
        m.write(f"{CPU}/cpu0/cpuidle/state0/latency", "1")
        self.check("cstates", "good")
        m.write("proc/cpuinfo", "flags\t\t: fpu hypervisor tsc")
        self.check("virtual", "warning", "0.00 %")
        self.check("cstates", "unknown", "host decides")
        warnings = [f["id"] for f in m.status() if f["severity"] == "warning"]
        self.assertEqual(warnings[0], "virtual")
        m.write("proc/stat", "cpu  10 0 10 900 0 0 0 80 0 0")
        self.check("virtual", "bad", "8.00 %")

    def test_smi(self) -> None:
        m = self.machine
        m.write("proc/cpuinfo", "vendor_id\t: GenuineIntel")
        self.assertEqual(self.check("smi", "unknown", "/dev/cpu/0/msr"), "modprobe msr")
        m.write("dev/cpu/0/msr", "\0" * 52 + "\x07" + "\0" * 7)
        self.check("smi", "good", "7 times")
        m.write("proc/cpuinfo", "vendor_id\t: AuthenticAMD")
        self.assertNotIn("smi", m.findings())

    def test_background_work(self) -> None:
        m = self.machine
        self.check("settings", "good", "KSM, NUMA balancing")
        for path, bad, good, name in (
            ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never",
             "always [madvise] never", "thp"),
            ("sys/kernel/mm/ksm/run", "1", "2", "ksm"),
            ("proc/sys/kernel/numa_balancing", "1", "0", "numa_balancing"),
            ("proc/sys/kernel/watchdog", "1", "0", "watchdog"),
            ("proc/sys/vm/stat_interval", "1", "120", "stat_interval"),
        ):
            m.write(path, bad)
            self.assertTrue(m.findings()[name]["mend"], name)
            m.write(path, good)
            self.assertNotIn(name, m.findings())
        (m.root / "proc/sys/vm/stat_interval").unlink()
        (m.root / "proc/sys/vm/stat_interval").mkdir()
        self.check("stat_interval", "unknown", "Is a directory")

    def test_limits(self) -> None:
        m = self.machine
        limits = "Limit  Soft Limit  Hard Limit  Units\nMax realtime priority     {}     {}"
        m.write("proc/self/limits", limits.format(0, 0))
        self.assertIn("rtprio 99", self.check("rtprio", "warning", "may not use"))
        m.write("proc/self/limits", limits.format(50, 99))
        self.check("rtprio", "good", "up to 50")
        status = "Name:\tx\nCapEff:\t0000000000800000\nSeccomp:\t{}"
        m.write("proc/self/status", status.format(0))
        self.check("rtprio", "good", "all real-time priorities")
        m.write("proc/self/limits", limits.format(0, 0))
        m.write("proc/self/uid_map", "0 1000 1")
        self.assertIn("ulimit -r", self.check("rtprio", "warning", "user namespace"))
        m.write("proc/self/uid_map", "0 0 4294967295")
        m.write("proc/self/status", status.format(2))
        self.assertIn("allow", self.check("rtprio", "warning", "seccomp"))

    def test_real_time_budget(self) -> None:
        """CAP_SYS_NICE does not help a task whose cgroup has none."""
        m = self.machine
        m.write("proc/self/status", "Name:\tx\nCapEff:\t0000000000800000")
        m.write("proc/sys/kernel/sched_rt_runtime_us", "950000")
        m.write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
        m.write("proc/self/cgroup", "0::/user.slice/one")
        m.write("boot/config-6.12.0", "CONFIG_RT_GROUP_SCHED=y")
        self.check("rtprio", "good")
        m.write("sys/fs/cgroup/user.slice/cpu.weight", "100")
        mend = self.check("rtprio", "warning", "/sys/fs/cgroup/user.slice/one")
        self.assertIn("echo $$ >/sys/fs/cgroup/cgroup.procs", mend)
        m.write("proc/sys/kernel/sched_rt_runtime_us", "-1")
        self.check("rtprio", "good")

    def test_siblings_without_isolation(self) -> None:
        m = self.machine
        m.write(f"{CPU}/cpu3/topology/thread_siblings_list", "3")
        self.assertNotIn("siblings", m.findings())
        m.write(f"{CPU}/cpu3/topology/thread_siblings_list", "1,3")
        mend = self.check("siblings", "warning", "2 CPUs share each core")
        self.assertIn("timershield isolate 1,3", mend)

    def test_tick_and_callbacks(self) -> None:
        m = self.machine
        m.isolate_at_boot("2-3")
        self.assertIn("nohz_full=2-3", self.check("tick", "note"))
        self.assertIn("rcu_nocbs=2-3", self.check("rcu", "note"))
        m.isolate_at_boot("2-3", "rcu_nocbs=3")
        self.assertIn("rcu_nocbs=2 ", self.check("rcu", "note"))
        for cpus in ("all", "N,2", "2-N", "0-3:2/2", "1,rcu_nocbs_poll rcu_nocbs=2-3"):
            m.isolate_at_boot("2-3", f"rcu_nocbs={cpus}")
            self.assertNotIn("rcu", m.findings(), cpus)
        m.isolate_at_boot("2-3", "rcu_nocbs=0-3:1/2")
        self.assertIn("rcu_nocbs=3 ", self.check("rcu", "note"))
        for cpus in ("2-9", "odd"):
            m.isolate_at_boot("2-3", f"rcu_nocbs={cpus}")
            self.check("rcu", "unknown", "not a list of this machine's CPUs")
        m.write(f"{CPU}/nohz_full", "2-3")
        self.assertFalse({"tick", "rcu"} & set(m.findings()))

    def process(self, locked: bool, cpus: str, rtprio: int, futex: str,
                absent: int = 0) -> "dict[str, str]":
        """The severities of what status says of process 70, robot."""
        m = self.machine
        stat = f"70 (robot) S 2 0 0 0 -1 0 9 0 1 0 0 0 0 0 {19 - rtprio} 0 1 0 123"
        for path in ("proc/70", "proc/70/task/70"):
            m.write(f"{path}/status", f"Name:\tx\nVmSize:\t8000 kB\nCpus_allowed_list:\t{cpus}")
            m.write(f"{path}/stat", stat + 17 * " 0" + f" {rtprio} {int(rtprio > 0)}")
        m.write("proc/70/smaps",
                "1000-2000 rw-p 0 00:00 0\nSize: 4000 kB\nRss: 4000 kB\n"
                f"VmFlags: rd wr{' lo' * locked}\n"
                "2000-3000 ---p 0 00:00 0\nSize: 9000 kB\nRss: 0 kB\nVmFlags: lo\n"
                f"3000-4000 r--p 0 00:00 0\nSize: {absent} kB\nRss: 0 kB\nVmFlags: rd lo\n"
                "4000-5000 r-xp 0 00:00 0\nSize: 99 kB\nRss: 99 kB\nVmFlags: rd ex de")
        m.write("proc/70/limits", "Max locked memory 65536 65536 bytes")
        m.write("proc/70/timerslack_ns", "50000")
        m.write("proc/70/task/70/syscall", futex)
        done = m.run("status", "-p", "70", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return {f["id"]: f["severity"] for f in json.loads(done.stdout)["findings"]}

    def test_process(self) -> None:
        """Whether one is ready for real time."""
        m = self.machine
        m.isolate_at_boot("2-3")
        m.write("proc/self/status", "Name:\tx\nCapEff:\t0000000000800000")
        number = 202 if os.uname().machine == "x86_64" else 98
        futex = f"{number} 0x7f00 {{}} 0x0 0x0 0x0 0x0 0x1 0x2"
        self.assertEqual(self.process(False, "0-3", 0, "running"), {
            "policy": "bad", "memory": "warning", "faults": "note", "slack": "note"})
        self.assertEqual(self.process(False, "0-3", 50, futex.format("0x80")), {
            "policy": "good", "memory": "bad", "affinity": "warning", "futex": "warning",
            "faults": "note", "throttling": "unknown"})
        self.assertIn("ulimit -l unlimited", m.run("status", "-p", "70").stdout)
        self.assertEqual(self.process(True, "2", 50, futex.format("0x86")), {
            "policy": "good", "memory": "good", "affinity": "good", "futex": "good",
            "faults": "note", "throttling": "unknown"})
        self.assertEqual(self.process(True, "2", 50, "running", 99)["memory"], "bad")
        self.assertIn("99 kB are not there yet", m.run("status", "-p", "70").stdout)
        m.write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
        m.write("proc/70/cgroup", "0::/machine/leaf")
        m.write("boot/config-6.12.0", "CONFIG_RT_GROUP_SCHED=y")
        m.write("proc/sys/kernel/sched_rt_runtime_us", "950000")
        m.write("proc/sys/kernel/sched_rt_period_us", "1000000")
        m.write("sys/fs/cgroup/machine/cpu.weight", "100")
        m.write("sys/fs/cgroup/machine/cpu.max", "20000 100000")
        m.write("sys/fs/cgroup/machine/leaf/cpu.max", "900000 1000000")
        found = self.process(True, "2", 50, "running")
        self.assertFalse({"quota", "budget"} & set(found))
        self.assertEqual(found["throttling"], "warning")
        found = self.process(True, "2", 0, "running")
        self.assertEqual((found["quota"], found["budget"]), ("warning", "bad"))
        text = m.run("status", "-p", "70").stdout
        self.assertIn("-> echo max >/sys/fs/cgroup/machine/cpu.max", text)
        self.assertIn("-> echo max >/sys/fs/cgroup/machine/leaf/cpu.max", text)
        self.assertIn("-> echo 70 >/sys/fs/cgroup/cgroup.procs", text)
        self.assertEqual(m.run("status", "-p", "71").returncode, 1)
        m.add_kernel_thread(72, b"kthreadd", "0-3")
        self.assertIn("thread of the kernel", m.run("status", "-p", "72").stderr)

    def test_interrupts_of_cpus_isolated_at_boot(self) -> None:
        m = self.machine
        m.isolate_at_boot("2-3")
        m.write("proc/irq/1/smp_affinity_list", "0-1")
        self.assertNotIn("irqs", m.findings())
        for irq, cpus in ((4, "0-3"), (5, "3"), (6, "0")):
            m.write(f"proc/irq/{irq}/smp_affinity_list", cpus)
        mend = self.check("irqs", "warning", "2 interrupts may go to CPUs 2-3")
        self.assertEqual(m.run(*mend.split()[1:]).returncode, 0)
        self.assertNotIn("irqs", m.findings())

    def test_timer_migration(self) -> None:
        m = self.machine
        m.write("proc/sys/kernel/timer_migration", "0")
        self.check("timer_migration", "good", "on the CPU that arms them")
        m.write("proc/sys/kernel/timer_migration", "1")
        self.check("timer_migration", "note", "High-resolution timers that an idle CPU arms")
        m.isolate_at_boot("2-3")
        self.check("timer_migration", "good", "not queued on isolated CPUs")
        m.write(f"{CPU}/nohz_full", "3")
        mend = self.check("timer_migration", "note", "armed on CPU 3 (nohz_full)")
        self.assertEqual(mend, "sysctl kernel.timer_migration=0")
        m.write("proc/sys/kernel/osrelease", "6.1.0")
        self.assertIn("the kernel's own", self.check("timer_migration", "note", "Timers that"))

    def test_task_that_outranks_rcu(self) -> None:
        m = self.machine
        m.isolate_at_boot("2-3")
        m.add_kernel_thread(33, b"rcuc/3", "3")
        self.assertNotIn("rcu_threads", m.findings())
        m.write("proc/70/task/70/status", "Name:\tx\nCpus_allowed_list:\t3")
        m.write("proc/70/task/70/stat", "70 (loop) R" + 36 * " 0" + " 80 1 0")
        self.assertNotIn("outranks rcuc/2", str(m.status()))
        mend = self.check("rcu_threads", "warning", "loop[70], FIFO 80, outranks rcuc/3")
        self.assertEqual(mend, "timershield run -p 81 -P 33; or boot with nohz_full=3")
        m.write(f"{CPU}/nohz_full", "3")
        self.assertNotIn("rcu_threads", m.findings())

    def test_shield_on_preempt_rt(self) -> None:
        """There it helps real-time tasks of different priorities alone."""
        m = self.machine
        m.write("proc/version", "Linux version 6.12.0 #1 SMP PREEMPT_RT")
        self.check("timers", "note", "no timer shield", "PREEMPT_RT")
        m.write("proc/sys/kernel/timershield", "0")
        mend = self.check("timers", "note", "is off", "PREEMPT_RT")
        self.assertTrue(mend.startswith("timershield timers levels"), mend)
        m.write("proc/sys/kernel/timershield", "1")
        self.check("timers", "good")

    def test_threads_that_nobody_balances(self) -> None:
        """Of a process with four threads on two CPUs that are isolated, one of them idle."""
        m = self.machine
        m.isolate_at_boot("2-3")
        self.process(False, "2-3", 0, "running")
        for tid, state, cpu in ((71, "R", 2), (72, "R", 2), (73, "S", 2)):
            for path in ("status", "syscall"):
                m.write(f"proc/70/task/{tid}/{path}", m.read(f"proc/70/task/70/{path}"))
            m.write(f"proc/70/task/{tid}/stat",
                    f"{tid} (worker) {state}" + 35 * " 0" + f" {cpu} 0 0")
            m.write(f"proc/{tid}/timerslack_ns", "0")
        found = {f["id"]: f for f in
                 json.loads(m.run("status", "-p70", "--json").stdout)["findings"]}
        self.assertIn("2 runnable threads share CPU 2", found["balance"]["text"])
        self.assertIn("taskset -pc 3 72", found["balance"]["mend"])
        m.isolate_at_boot("3")
        self.assertNotIn("runnable threads", m.run("status", "-p70").stdout)

    def test_zombies_are_no_tasks(self) -> None:
        m = self.machine
        m.isolate_at_boot("3")
        for state, kept in (("S", 1), ("Z", 0)):
            m.write("proc/70/task/70/status", "Name:\tx\nCpus_allowed_list:\t3")
            m.write("proc/70/task/70/stat", f"70 (gone) {state}" + 38 * " 0")
            unmoved = json.loads(m.run("status", "--json").stdout)["isolation"]["unmoved"]
            self.assertEqual(len(unmoved), kept, state)

    def test_network_of_a_fieldbus(self) -> None:
        """Its interrupts' threads; those of other interfaces do not matter."""
        m = self.machine
        row = "ffff 3 3 {} 7 1 0 0 {}"
        m.write("sys/class/net/eth0/ifindex", "7")
        m.write("sys/class/net/eth1/ifindex", "8")
        for device, irq in (("eth0", 44), ("eth1", 45)):
            m.write(f"sys/class/net/{device}/device/msi_irqs/{irq}", "msix")
            m.add_kernel_thread(irq, f"irq/{irq}-{device}".encode(), "0-3")
        self.process(True, "2", 80, "running")
        for protocol, severity in (("0003", None), ("88a4", "warning")):
            m.write("proc/net/packet", f"sk RefCnt Type Proto Iface R\n{row.format(protocol, 5)}")
            self.assertEqual(m.findings().get("frames", {}).get("severity"), severity)
        mend = self.check("frames", "warning", "from eth0 through irq/44-eth0[44]", "FIFO 80")
        self.assertEqual(mend, "timershield run -p 81 -P 44")
        m.write("proc/70/net/packet", row.format("0003", 5))
        (m.root / "proc/70/fd").mkdir()
        self.assertNotIn("frames", self.process(True, "2", 80, "running"))
        (m.root / "proc/70/fd/3").symlink_to("socket:[5]")
        self.assertEqual(self.process(True, "2", 80, "running")["frames"], "warning")
        self.assertNotIn("frames", self.process(True, "2", 0, "running"))

    @unittest.skipUnless(os.geteuid() == 0, "raw sockets are for root")
    def test_coalescing(self) -> None:
        """Of this machine's loopback, of which killer.c changes what a driver says."""
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as raw:
            raw.bind(("lo", 0x88a4))
            for coalesce, severity in (("250 0", "warning"), ("0 1", "warning"), ("0 0", "good")):
                environment = preloaded(COALESCE=coalesce)
                done = subprocess.run([COMMAND, "status", "--json", "-p", str(os.getpid())],
                                      env=environment, check=True, capture_output=True, text=True,
                                      timeout=60)
                found = {f["id"]: f for f in json.loads(done.stdout)["findings"]}["coalescing"]
                self.assertEqual(found["severity"], severity, coalesce)

    def test_what_users_may_arm(self) -> None:
        m = self.machine
        self.assertNotIn("unprivileged", m.findings())
        m.write("proc/sys/user/max_user_namespaces", "100")
        self.assertIn("max_user_namespaces=0",
                      self.check("unprivileged", "note", "user namespaces"))
        for path, value in (("proc/sys/kernel/unprivileged_userns_clone", "0"),
                            ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1")):
            m.write(path, value)
            self.assertNotIn("unprivileged", m.findings(), path)
            (m.root / path).unlink()
        m.write("proc/sys/user/max_user_namespaces", "0")
        group = "sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service"
        m.write(f"{group}/cgroup.controllers", "cpuset memory pids")
        self.assertNotIn("unprivileged", m.findings())
        m.write(f"{group}/cgroup.controllers", "memory pids cpu")
        mend = self.check("unprivileged", "note", "cpu.max")
        self.assertIn("Delegate=memory pids", mend)
        self.assertNotIn("namespaces", mend)

    def test_timers(self) -> None:
        m = self.machine
        self.assertIn("make module", self.check("timers", "warning"))
        m.write("proc/sys/kernel/osrelease", "6.18.0")
        self.assertIn("boot a kernel", self.check("timers", "warning"))
        m.write("proc/sys/kernel/osrelease", "6.12.0")
        m.write("lib/modules/6.12.0/modules.dep", "extra/timershield.ko.xz:")
        self.assertEqual(self.check("timers", "bad", "not loaded"), "timershield timers on")
        self.assertIn("not loaded", m.run("timers").stdout)
        self.assertEqual(json.loads(m.run("timers", "--json").stdout)["kind"],
                         "module, not loaded")
        m.write("proc/sys/kernel/timershield", "1")
        self.check("timers", "good", "The timer shield is on.")
        self.assertIn("built in", m.run("timers").stdout)
        m.write("sys/module/timershield/initstate", "live")
        self.assertEqual(json.loads(m.run("timers", "--json").stdout)["kind"], "module")
        m.write("proc/sys/kernel/timershield", "2")
        self.check("timers_mode", "good", "all of them are pinned")
        for cpus, severity in (("0-3", "warning"), ("2", "good")):
            m.write("proc/70/task/70/status", f"Name:\tx\nCpus_allowed_list:\t{cpus}")
            m.write("proc/70/task/70/stat", "70 (robot) S 2 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 123"
                    + 17 * " 0" + " 50 1")
            self.check("timers_mode", severity, "pinned")
        m.write("proc/70/task/70/status", "Name:\tx\nCpus_allowed_list:\t0-3")
        self.assertIn("timers on", self.check("timers_mode", "warning", "robot[70], FIFO 50"))

    def test_text_wraps_at_the_terminals_width(self) -> None:
        for columns in (80, 40):
            master, terminal = pty.openpty()
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 25, columns, 0, 0))
            subprocess.run([COMMAND, "status", "--root", str(self.machine.root)], check=True,
                           stdout=terminal, env={"TERM": "dumb"}, timeout=60)
            lines = os.read(master, 65536).decode().splitlines()
            os.close(terminal)
            self.assertGreater(len(lines), 20)
            for line in lines:      # a word that is too long stands alone
                self.assertTrue(len(line) <= columns or len(line.split()) <= 2, line)

    def test_check(self) -> None:
        m = self.machine
        m.write(f"{CLOCK}/current_clocksource", "tsc")
        self.assertEqual(m.run("status", "--check").returncode, 0)
        m.write(f"{CLOCK}/current_clocksource", "hpet")
        self.assertEqual(m.run("status", "--check", "--json").returncode, 1)
        self.assertEqual(m.run("status").returncode, 0)

    def test_per_cpu_threads_are_grouped(self) -> None:
        m = self.machine
        m.write(f"{CPU}/online", "0-63")
        m.write(f"{CPU}/possible", "0-63")
        m.isolate_at_boot("1-63")
        names = (b"migration/%d", b"ksoftirqd/%d", b"cpuhp/%d", b"kworker/%d:0", b"kworker/%d:1H")
        for cpu in range(1, 64):
            for n, name in enumerate(names):
                m.add_kernel_thread(100 * cpu + n, name % cpu, str(cpu))
        text = m.run("status").stdout
        below = text[text.index("On isolated CPUs:"):].splitlines()[1:]
        self.assertEqual(len(below), 4, text)
        migration = next(line for line in below if "migration/*" in line)
        self.assertIn("63 tasks", migration)
        self.assertIn("CPUs 1-63  migration/*", migration)
        unmoved = json.loads(m.run("status", "--json").stdout)["isolation"]["unmoved"]
        self.assertEqual(len(unmoved), 63 * len(names))


class IsolationTest(StatusTest):
    """By cgroups: what the kernel says counts, not what the journal recorded."""

    def setUp(self) -> None:
        super().setUp()
        self.machine.killer = KILLER
        self.machine.add_cgroups()
        self.machine.write("proc/cmdline", "quiet")

    def isolate(self) -> None:
        """CPU 3, with what a kernel would then show."""
        self.assertEqual(self.machine.run("isolate", "3").returncode, 0)
        self.machine.write(f"{GROUP}/cpuset.cpus.effective", "3")
        self.check("isolation", "good", "CPU 3 is isolated from tasks and interrupts")

    def test_interrupt_of_the_isolated_cpu(self) -> None:
        """Directed there once the CPU is isolated, it stays."""
        m = self.machine
        self.isolate()
        m.write("proc/irq/1/smp_affinity_list", "3")
        for words in (("isolate", "2"), ("unisolate",)):
            self.assertEqual(m.run(*words).returncode, 0)
            self.assertEqual(m.read("proc/irq/1/smp_affinity_list"), "3\n")

    def isolation(self) -> "dict[str, Any]":
        """What status says of it."""
        found: dict[str, Any] = json.loads(self.machine.run("status", "--json").stdout)["isolation"]
        return found

    def test_interrupts_that_cannot_be_moved(self) -> None:
        """As in a container, where /proc/irq is read-only."""
        m = self.machine
        m.write("proc/irq/default_smp_affinity.ro", "")
        for words in (("--irqs", "3"), ("3",)):
            done = m.run("isolate", *words)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn("nothing was changed", done.stderr)
            self.assertEqual(self.isolation()["irqs"], "")
            self.assertFalse((m.root / "run/timershield/journal").exists())

    def test_lock(self) -> None:
        """As on a /run without locks: two at once would mix up the journal."""
        m = self.machine
        m.write("run/timershield/lock.ro", "")
        done = m.run("isolate", "3")
        self.assertEqual(done.returncode, 1)
        self.assertIn("timershield/lock: No locks available", done.stderr)
        self.assertFalse((m.root / "run/timershield/journal").exists())

    def test_managed_interrupt(self) -> None:
        """The kernel refuses to move one: then nothing else has sent it back."""
        m = self.machine
        m.write("proc/irq/3/nvme0q1/x", "")
        m.write("proc/irq/3/smp_affinity_list.ro", "")
        self.assertIn("managed or per-CPU interrupt", m.run("isolate", "2").stdout)
        self.assertIn("managed or per-CPU", self.isolation()["unmoved"][0]["reason"])
        (m.root / "proc/irq/3/smp_affinity_list.ro").unlink()
        self.assertNotIn("interrupt:", m.run("isolate", "2").stdout)
        m.write("proc/irq/3/smp_affinity_list", "0,2")
        self.assertIn("sent back by something else", self.isolation()["unmoved"][0]["reason"])
        self.assertEqual(m.run("unisolate").returncode, 0)
        self.assertEqual(m.read("proc/irq/3/smp_affinity_list"), "0,2\n")

    def test_partition_that_the_kernel_refuses(self) -> None:
        """Then interrupts are where they were, and status says so."""
        m = self.machine
        self.assertEqual(m.run("isolate", "--procs", "3").returncode, 0)
        m.write(f"{GROUP}/cpuset.cpus.partition", "isolated invalid")
        m.write(f"{GROUP}/cpuset.cpus.partition.ro", "")
        self.assertEqual(m.run("isolate", "3").returncode, 1)
        self.assertEqual(m.read("proc/irq/default_smp_affinity"), "f\n")
        self.assertEqual(self.isolation()["requested"], "3")
        self.assertEqual(self.isolation()["irqs"], "")

    def test_partitions_of_others(self) -> None:
        """They are asked before the first write; one that ends all the same begins again."""
        m = self.machine
        m.write("proc/sys/kernel/osrelease", "6.12.0")
        m.write(f"{CGROUP}/foo/cpuset.cpus", "")
        m.write(f"{CGROUP}/foo/cpuset.cpus.partition", "member")
        m.write(f"{CGROUP}/foo/deep/cpuset.cpus", "")
        m.write(f"{CGROUP}/foo/deep/cpuset.cpus.exclusive", "3")
        m.write(f"{CGROUP}/foo/deep/cpuset.cpus.partition", "root")
        for words in (["3"], ["2-3"], ["3", "-n"]):
            done = m.run("isolate", *words)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("/foo/deep/cpuset.cpus", done.stderr)
            self.assertFalse((m.root / GROUP).exists())
        self.assertIn("timershield isolate 2,", self.check("isolation", "warning"))
        m.write(f"{CGROUP}/foo/cpuset.cpus", "0-2")
        self.assertNotIn("timershield isolate", self.check("isolation", "warning"))
        m.write(f"{CGROUP}/foo/cpuset.cpus", "")
        m.write("etc/timershield.conf", "cpus = 3\ntimers = on")
        m.write("lib/modules/6.12.0/modules.dep", "extra/timershield.ko:")
        self.assertIn("/foo/deep/cpuset.cpus", m.run("isolate", "--config").stderr)
        m.ends = f"{CGROUP}/foo/deep/cpuset.cpus.partition"
        m.write(f"{GROUP}/cpuset.cpus.partition.ro", "")
        for name in ("cpuset.cpus", "cpuset.cpus.partition", "cgroup.subtree_control"):
            m.write(f"{GROUP}/{name}", "")
        self.assertEqual(m.run("isolate", "2").returncode, 1)
        self.assertEqual(m.read(m.ends), "root\n")

    def test_cpusets_of_others(self) -> None:
        """Those that were set while a CPU was isolated are not lost with the controller."""
        m = self.machine
        for cpus, mems, left in (("0-1", "", "cpuset"), ("", "0", "cpuset"), ("", "", "")):
            m.write(f"{CGROUP}/cgroup.subtree_control", "")
            self.isolate()
            m.write(f"{CGROUP}/user.slice/cpuset.cpus", cpus)
            m.write(f"{CGROUP}/user.slice/cpuset.mems", mems)
            done = m.run("unisolate")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(m.read(f"{CGROUP}/cgroup.subtree_control"), f"{left}\n")
            self.assertEqual("stays enabled" in done.stderr, bool(left))

    def test_cgroups_unmounted_meanwhile(self) -> None:
        """The partition lives on, so its journal does, too."""
        m = self.machine
        self.isolate()
        mounts = m.read("proc/self/mountinfo")
        m.write("proc/self/mountinfo", "")
        done = m.run("unisolate")
        self.assertEqual(done.returncode, 4)
        self.assertIn("cgroup v2 is not mounted", done.stderr)
        m.write("proc/self/mountinfo", mounts)
        self.assertEqual(m.run("unisolate").returncode, 0)
        self.assertFalse((m.root / GROUP / "cpuset.cpus").exists())

    def test_hyperthread(self) -> None:
        self.machine.write(f"{CPU}/cpu3/topology/thread_siblings_list", "2-3")
        self.isolate()
        done = self.machine.run("isolate", "3")
        self.assertIn("CPU 2, not isolated, shares a core", done.stdout)

    def test_lost_or_damaged_journal(self) -> None:
        """It is refused, and nothing is changed; a reboot undoes all."""
        m = self.machine
        for damage, text in ((lambda path: path.unlink(), "is missing"),
                             (lambda path: path.write_bytes(path.read_bytes()[:-2]), "is damaged")):
            self.isolate()
            journal = m.root / "run/timershield/journal"
            kept = journal.read_bytes()
            damage(journal)
            self.assertIn("reboot", self.check("journal", "bad", text))
            for words in (("isolate", "2"), ("unisolate",)):
                done = m.run(*words)
                self.assertEqual(done.returncode, 5, words)
                self.assertIn(text, done.stderr)
            self.assertEqual(m.read("proc/irq/default_smp_affinity"), "7\n")
            journal.write_bytes(kept)
            self.assertEqual(m.run("unisolate").returncode, 0)

    def test_partition_that_cannot_be_removed(self) -> None:
        """Everything else is undone, and the process that keeps it is named."""
        m = self.machine
        self.isolate()
        m.write(f"{GROUP}/cgroup.procs", "77")
        m.write(f"{GROUP}/busy", "")
        m.write("proc/77/task/77/stat", "77 (hog) S 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0"
                                        " 20 0 1 0 123 0 0")
        m.write("proc/77/task/77/status", "Name:\thog\nCpus_allowed_list:\t3")
        done = m.run("unisolate")
        self.assertEqual(done.returncode, 1)
        self.assertIn("77 (hog)", done.stderr)
        self.assertEqual(m.read(f"{GROUP}/cpuset.cpus.partition"), "member\n")
        self.assertEqual(m.read("proc/irq/default_smp_affinity"), "f\n")
        self.assertEqual(m.read("proc/irq/1/smp_affinity_list"), "0-3\n")
        self.check("journal", "bad", "interrupted half-way")
        (m.root / GROUP / "busy").unlink()
        self.assertEqual(m.run("unisolate").returncode, 0)
        self.assertFalse((m.root / GROUP / "cpuset.cpus").exists())

    def test_default_mask_written_by_others(self) -> None:
        self.isolate()
        self.machine.write("proc/irq/default_smp_affinity", "f")
        mend = self.check("default_mask", "warning", "CPU 3")
        self.assertEqual(mend, "timershield isolate --irqs 3")
        self.machine.write("proc/irq/default_smp_affinity", "4")
        self.assertEqual(self.machine.run("unisolate").returncode, 0)
        self.assertEqual(self.machine.read("proc/irq/default_smp_affinity"), "4\n")

    def test_without_cpusets(self) -> None:
        m = self.machine
        m.write("proc/self/mountinfo", "")
        self.assertEqual(m.run("unisolate").returncode, 0)
        cpu = str(min(os.sched_getaffinity(0)))
        self.assertEqual(m.run("run", "-c", cpu, "--", "true").returncode, 0)
        self.assertEqual(m.run("isolate", "3").returncode, 4)
        self.assertEqual(m.read("proc/irq/default_smp_affinity"), "f\n")
        done = m.run("isolate", "--irqs", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(m.read("proc/irq/default_smp_affinity"), "7\n")
        self.check("isolation", "good", "CPU 3 is isolated from interrupts")
        self.assertEqual(m.run("unisolate").returncode, 0)
        self.assertEqual(m.read("proc/irq/default_smp_affinity"), "f\n")


if __name__ == "__main__":
    COMMAND, KILLER = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
