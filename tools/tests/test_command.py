# SPDX-License-Identifier: GPL-2.0-or-later
"""The command on directories that look like a machine: what it says, and its exit statuses.

What it does to a real kernel is tested in guests (lab/guest/tests/shield_*.c).
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COMMAND = ""


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run the command and wait for its end."""
    return subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False,
                          timeout=60)


class Machine:
    """A directory with the files of a machine, as --root takes it."""

    def __init__(self, directory: str) -> None:
        self.root = Path(directory)
        cpu = "sys/devices/system/cpu"
        self.write(f"{cpu}/online", "0-3")
        self.write(f"{cpu}/possible", "0-3")
        self.write("proc/version", "Linux version 6.12.0 #1 SMP PREEMPT")
        self.write("proc/sys/kernel/osrelease", "6.12.0")
        self.write("proc/sys/kernel/random/boot_id", "00000000-1111-2222-3333-444444444444")
        self.write("proc/self/timerslack_ns", "50000")
        self.write("proc/irq/default_smp_affinity", "f")
        (self.root / "run").mkdir()

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")

    def read(self, path: str) -> str:
        return (self.root / path).read_text()

    def add_shield(self) -> None:
        """The files of CONFIG_CPU_SHIELD."""
        self.write("proc/shield/procs", "")
        self.write("proc/shield/irqs", "")
        self.write("proc/shield/report", "#kind\tid\tcpus\tname\treason\n"
                                         "task\t17\t3\tmigration/3\tper-CPU kernel thread")

    def run(self, verb: str, *words: str) -> "subprocess.CompletedProcess[str]":
        return run(verb, "--root", str(self.root), *words)

    def findings(self) -> dict[str, dict[str, str]]:
        """What status finds, by id; and it must be valid JSON."""
        done = self.run("status", "--json")
        found = json.loads(done.stdout)["findings"]
        order = ["bad", "warning", "note", "good"]
        ranks = [order.index(f["severity"]) for f in found]
        assert ranks == sorted(ranks), "not the worst first"
        return {f["id"]: f for f in found}


class CommandTest(unittest.TestCase):
    """Arguments and exit statuses."""

    def test_help(self) -> None:
        text = run("help").stdout
        for verb in ("status", "shield", "unshield", "run", "timers", "help", "version"):
            self.assertIn(f"  {verb} ", text)
            for words in (("help", verb), (verb, "--help")):
                if words[0] in ("help", "version") and words[-1] == "--help":
                    continue
                done = run(*words)
                self.assertEqual(done.returncode, 0, words)
                self.assertTrue(done.stdout.startswith(f"usage: timershield {verb}"), words)

    def test_version(self) -> None:
        self.assertRegex(run("--version").stdout, r"^timershield \d+\.\d+\.\d+\n$")

    def test_usage_errors(self) -> None:
        for words in (("nonsense",), ("shield",), ("shield", "x"), ("shield", "1", "2"),
                      ("shield", "--backend=x", "1"), ("shield", ""), ("unshield", "x"),
                      ("timers", "maybe"), ("timers", "on", "off"), ("status", "x"),
                      ("status", "--nonsense"), ("help", "nonsense"), ("version", "x"),
                      ("shield", "--config=/x", "1")):
            done = run(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("timershield", done.stderr, words)
            self.assertEqual(done.stdout, "", words)

    def test_run_has_statuses_of_its_own(self) -> None:
        for words in ((), ("-c", "x", "true"), ("-p", "0", "true"), ("-p", "100", "true"),
                      ("-s", "x", "true"), ("-s", "fifo", "true"), ("-P", "x"),
                      ("-s", "other", "-p", "1", "true"), ("-P", "1", "true"),
                      ("--mlock", "-P", "1"), ("--nonsense",)):
            self.assertEqual(run("run", *words).returncode, 125, words)
        self.assertEqual(run("run", "/nonexistent/command").returncode, 127)
        self.assertEqual(run("run", "no-such-command-anywhere").returncode, 127)
        self.assertEqual(run("run", "/etc/passwd").returncode, 126)
        self.assertEqual(run("run", "/").returncode, 126)

    def test_full_disk(self) -> None:
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([COMMAND, "help"], stdout=full, stderr=subprocess.PIPE,
                                  check=False)
        self.assertEqual(done.returncode, 1)


class MachineTest(unittest.TestCase):
    """What it reads and writes."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.machine = Machine(directory.name)

    def test_status_of_a_bare_machine(self) -> None:
        found = self.machine.findings()
        self.assertEqual(found["preemption"]["severity"], "good")
        self.assertEqual(found["timers"]["severity"], "warning")
        self.assertEqual(found["shield"]["severity"], "warning")
        self.assertEqual(found["slack"]["severity"], "note")

    def test_status_names_what_is_bad(self) -> None:
        m = self.machine
        m.add_shield()
        cpu = "sys/devices/system/cpu"
        m.write("proc/version", "Linux version 6.1.0 #1 SMP")
        m.write("proc/sys/kernel/osrelease", "6.1.0")
        m.write("proc/sys/kernel/timershield", "0")
        m.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet")
        m.write("sys/devices/system/clocksource/clocksource0/available_clocksource", "hpet")
        m.write(f"{cpu}/cpu3/cpuidle/state2/latency", "350")
        m.write(f"{cpu}/cpu3/cpuidle/state2/disable", "0")
        m.write(f"{cpu}/cpu3/cpuidle/state2/name", "C6")
        m.write(f"{cpu}/cpu3/cpufreq/scaling_governor", "powersave")
        m.write(f"{cpu}/cpu3/topology/thread_siblings_list", "1,3")
        m.write("proc/sys/kernel/sched_rt_runtime_us", "950000")
        m.write("proc/sys/kernel/sched_rt_period_us", "1000000")
        m.write("proc/77/task/77/stat", "77 (irqbalance) S 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0"
                                        " 20 0 1 0 123 0 0")
        m.write("proc/77/task/77/status", "Name:\tirqbalance\nCpus_allowed_list:\t0-3")
        self.assertEqual(m.run("shield", "3", "--procs").returncode, 0)
        found = m.findings()
        for name in ("preemption", "timers", "clocksource", "cstates", "siblings"):
            self.assertEqual(found[name]["severity"], "bad", name)
            self.assertTrue(found[name]["mend"], name)
        for name in ("governor", "throttling", "irqbalance"):
            self.assertEqual(found[name]["severity"], "warning", name)
        self.assertIn("cpu3/cpuidle/state2/disable", found["cstates"]["mend"])
        self.assertEqual(found["siblings"]["mend"], "timershield shield 1")
        self.assertEqual(found["timers"]["mend"], "timershield timers on")
        m.write(f"{cpu}/cpu3/cpuidle/state2/disable", "1")
        m.write(f"{cpu}/cpu3/cpufreq/scaling_governor", "performance")
        m.write("proc/sys/kernel/sched_rt_runtime_us", "-1")
        found = m.findings()
        for name in ("cstates", "governor", "throttling"):
            self.assertEqual(found[name]["severity"], "good", name)

    def test_status_of_preempt_dynamic(self) -> None:
        m = self.machine
        m.write("proc/version", "Linux version 6.18.0 #1 SMP PREEMPT_DYNAMIC")
        m.write("proc/cmdline", "quiet")
        found = m.findings()["preemption"]
        self.assertEqual(found["severity"], "warning")
        self.assertIn("debugfs" if os.geteuid() == 0 else "root", found["mend"])
        for model, severity in (("none", "bad"), ("voluntary", "bad"), ("lazy", "good"),
                                ("full", "good")):
            m.write("proc/cmdline", f"quiet preempt={model}")
            self.assertEqual(m.findings()["preemption"]["severity"], severity, model)
        for line, severity in (("none (voluntary) full", "bad"), ("none voluntary (full)", "good"),
                               ("(none) voluntary full", "bad"), ("none full (lazy)", "good")):
            m.write("sys/kernel/debug/sched/preempt", line)
            found = m.findings()["preemption"]
            self.assertEqual(found["severity"], severity, line)
            self.assertEqual("echo full >/sys" in found["mend"], severity == "bad", line)

    def test_status_of_the_fair_server(self) -> None:
        m = self.machine
        m.write("proc/sys/kernel/sched_rt_runtime_us", "950000")
        m.write("proc/sys/kernel/sched_rt_period_us", "1000000")
        self.assertIn("not to be seen", m.findings()["throttling"]["text"])
        for cpu in range(4):
            server = f"sys/kernel/debug/sched/fair_server/cpu{cpu}"
            m.write(f"{server}/runtime", "50000000")
            m.write(f"{server}/period", "1000000000")
        found = m.findings()["throttling"]
        self.assertIn("CPUs 0-3 may take 50 ms of each 1000 ms", found["text"])
        self.assertIn("cpu[0-9]*/runtime", found["mend"])
        m.write("sys/kernel/debug/sched/fair_server/cpu1/runtime", "0")
        found = m.findings()["throttling"]
        self.assertIn("CPUs 0,2-3 may", found["text"])
        self.assertIn("cpu{0,2,3}/runtime", found["mend"])

    def test_status_of_a_virtual_machine(self) -> None:
        m = self.machine
        m.write("sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "1")
        self.assertEqual(m.findings()["cstates"]["severity"], "good")
        m.write("proc/cpuinfo", "flags\t\t: fpu hypervisor tsc")
        found = m.findings()
        self.assertEqual(found["virtual"]["severity"], "warning")
        self.assertNotIn("cstates", found)

    def test_status_says_why_no_cpu_can_be_shielded(self) -> None:
        m = self.machine
        for line, mend in (("cpuset\t0\t1\t1", "mount -t cgroup2"),
                           ("cpuset\t3\t1\t1", "boot with cgroup_no_v1=cpuset"),
                           ("cpu\t0\t1\t1", "CONFIG_CPUSETS")):
            m.write("proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\n" + line)
            self.assertIn(mend, m.findings()["shield"]["mend"], line)
            self.assertIn(mend, m.run("shield", "1").stderr, line)
        m.write("sys/devices/system/cpu/online", "0")
        self.assertNotIn("shield", m.findings())

    def test_status_counts_in_words(self) -> None:
        m = self.machine
        m.add_shield()
        cpu = "sys/devices/system/cpu"
        m.write("proc/shield/procs", "3")
        self.assertEqual(m.findings()["shield"]["text"],
                         "CPU 3 is shielded from tasks (proc backend). 1 task still "
                         "has its place there (below).")
        m.write("proc/shield/procs", "2-3")
        m.write("proc/shield/irqs", "2-3")
        m.write(f"{cpu}/cpu2/topology/thread_siblings_list", "0,2")
        m.write(f"{cpu}/cpu3/topology/thread_siblings_list", "1,3")
        found = m.findings()
        self.assertIn("CPUs 2-3 are shielded from tasks and interrupts", found["shield"]["text"])
        self.assertIn("CPUs 0-1 share a core with a shielded CPU and are not",
                      found["siblings"]["text"])
        self.assertIn("timershield unshield", found["siblings"]["mend"])

    def test_shield_by_the_kernel(self) -> None:
        m = self.machine
        m.add_shield()
        done = m.run("shield", "2-3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("CPUs 2-3 are shielded from tasks and interrupts.", done.stdout)
        self.assertIn("migration/3", done.stdout)
        self.assertEqual(m.read("proc/shield/procs"), "2-3\n")
        self.assertEqual(m.run("shield", "1", "--irqs", "--only").returncode, 0)
        self.assertEqual(m.read("proc/shield/procs"), "none\n")
        self.assertEqual(m.read("proc/shield/irqs"), "1\n")
        self.assertEqual(m.run("unshield").returncode, 0)
        self.assertEqual(m.read("proc/shield/irqs"), "none\n")

    def test_refused(self) -> None:
        m = self.machine
        m.add_shield()
        for words, status in ((("0-3",), 1), (("4",), 1), (("9000",), 2)):
            self.assertEqual(m.run("shield", *words).returncode, status, words)
        self.assertEqual(m.read("proc/shield/procs"), "\n")
        for line, status in (("shield 9000", 2), ("unshield 0-9000", 2),
                             ("run -c 9000 true", 125)):
            done = run(*line.split())
            self.assertEqual(done.returncode, status, line)
            self.assertIn("Linux has CPUs 0-8191 at most", done.stderr, line)

    def test_no_backend(self) -> None:
        self.assertEqual(self.machine.run("shield", "1").returncode, 4)
        self.assertEqual(self.machine.run("shield", "1", "--backend=proc").returncode, 4)

    def test_config(self) -> None:
        m = self.machine
        m.add_shield()
        m.write("proc/sys/kernel/timershield", "0")
        m.write("etc/timershield.conf", "cpus = 3\nirqs = no\ntimers = on")
        self.assertEqual(m.run("shield", "--config").returncode, 0)
        self.assertEqual(m.read("proc/shield/procs"), "3\n")
        self.assertEqual(m.read("proc/sys/kernel/timershield"), "1\n")
        m.write("etc/timershield.conf", "cpus = none")
        self.assertEqual(m.run("shield", "--config").returncode, 0)
        self.assertEqual(m.read("proc/shield/procs"), "none\n")
        m.write("etc/timershield.conf", "# one\ncpu = 3")
        done = m.run("shield", "--config")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/etc/timershield.conf:2:", done.stderr)

    def test_timers(self) -> None:
        m = self.machine
        self.assertEqual(m.run("timers").returncode, 4)
        self.assertEqual(m.run("timers", "on").returncode, 4)
        m.write("proc/sys/kernel/timershield", "1")
        m.write("proc/timershield", "cpu\tthreshold\tmasked\treleased\tavoided\tlongest_hold_ns\n"
                                    "0\t52\t10\t9\t8\t1500")
        cpus = json.loads(m.run("timers", "--json").stdout)["cpus"]
        self.assertEqual(cpus[0]["masked"], 10)
        self.assertEqual(cpus[0]["longest_hold_ns"], 1500)
        self.assertIn("below FIFO 50", m.run("timers").stdout)
        self.assertEqual(m.run("timers", "off").returncode, 0)
        self.assertEqual(m.read("proc/sys/kernel/timershield"), "0\n")

    def test_odd_names_keep_json_and_lines_whole(self) -> None:
        m = self.machine
        m.add_shield()
        m.write("proc/shield/procs", "3")
        m.write("proc/shield/report", "#kind\tid\tcpus\tname\treason\n"
                                      "task\t17\t3\ta\"b\\\x1b[31m\tx")
        (m.root / "proc/shield/report").write_bytes(
            b"#kind\tid\tcpus\tname\treason\ntask\t17\t3\ta\"\\\x1b\xff\tx\nbroken\n")
        item = json.loads(m.run("status", "--json").stdout)["shield"]["unmoved"][0]
        self.assertEqual(item["name"], 'a"\\?\ufffd')
        done = subprocess.run([COMMAND, "status", "--root", str(m.root)], capture_output=True,
                              check=False)
        self.assertNotIn(b"\x1b", done.stdout)


if __name__ == "__main__":
    COMMAND = sys.argv.pop(1)
    unittest.main()
