# SPDX-License-Identifier: GPL-2.0-or-later
"""The command on directories that look like a machine: what it says, and its exit statuses.

What it does to a real kernel is tested in guests (tests/isolate.sh).
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest

from machine import Machine

COMMAND = ""


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run the command and wait for its end."""
    return subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False,
                          timeout=60)


class CommandTest(unittest.TestCase):
    """Arguments and exit statuses."""

    def test_help(self) -> None:
        text = run("help").stdout
        for verb in ("status", "isolate", "unisolate", "run", "timers", "blame",
                     "prove", "help", "version"):
            self.assertIn(f"  {verb} ", text)
            for words in (("help", verb), (verb, "--help")):
                done = run(*words)
                self.assertEqual(done.returncode, 0, words)
                self.assertTrue(done.stdout.startswith(f"usage: timershield {verb}"), words)

    def test_version(self) -> None:
        self.assertRegex(run("--version").stdout, r"^timershield \d+\.\d+\.\d+\n$")

    def test_json_of_help_and_version(self) -> None:
        text = run("help", "--json").stdout
        line = run("help", "--json=line").stdout
        self.assertEqual(line.index("\n"), len(line) - 1)
        self.assertEqual(json.loads(line), json.loads(text))
        verbs = {verb["verb"] for verb in json.loads(text)}
        self.assertLessEqual({"status", "isolate", "run", "version"}, verbs)
        self.assertRegex(json.loads(run("version", "--json").stdout)["version"], r"^\d+\.\d+")

    def test_usage_errors(self) -> None:
        for words in (("nonsense",), ("isolate",), ("isolate", "x"), ("isolate", "1", "2"),
                      ("isolate", "--nonsense", "1"), ("isolate", ""), ("unisolate", "x"),
                      ("timers", "maybe"), ("timers", "on", "off"), ("status", "x"),
                      ("status", "--nonsense"), ("help", "nonsense"), ("version", "x"),
                      ("prove", "x"), ("prove", "-s", "0"), ("prove", "-c", "x"),
                      ("prove", "--root=/tmp"), ("prove", "--next-to=threads:n=5,period=9000"),
                      ("isolate", "--config=/x", "1"), ("isolate", "-p", "1"),
                      ("status", "--json=x"), ("status", "-n"),
                      ("unisolate", "-i")):
            done = run(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("timershield", done.stderr, words)
            self.assertEqual(done.stdout, "", words)

    def test_options_before_the_verb(self) -> None:
        done = run("--json", "status")
        self.assertEqual(done.returncode, 2)
        self.assertIn("the verb comes first: timershield status --json\n", done.stderr)

    def test_run_has_statuses_of_its_own(self) -> None:
        for words in ((), ("-c", "x", "true"), ("-p", "0", "true"), ("-p", "100", "true"),
                      ("-s", "x", "true"), ("-s", "fifo", "true"), ("-P", "x"),
                      ("-s", "other", "-p", "1", "true"), ("-P", "1", "true"),
                      ("--nonsense",)):
            self.assertEqual(run("run", *words).returncode, 125, words)
        cpu = str(min(os.sched_getaffinity(0)))
        for command, status in (("/nonexistent/command", 127), ("no-such-command-anywhere", 127),
                                ("/etc/passwd", 126), ("/", 126)):
            self.assertEqual(run("run", "-c", cpu, command).returncode, status, command)

    def test_run_of_what_is_no_process(self) -> None:
        ended = subprocess.Popen(["true"])
        ended.wait()
        stop = threading.Event()
        thread = threading.Thread(target=stop.wait)
        thread.start()
        for pid, why in ((ended.pid, "no such process"),
                         (thread.native_id, "a thread of one")):
            done = run("run", "-c", "0", "-P", str(pid))
            self.assertEqual(done.returncode, 125)
            self.assertIn(why, done.stderr)
        stop.set()

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
        self.machine = Machine(directory.name, COMMAND)

    def test_isolate(self) -> None:
        m = self.machine
        m.isolate_at_boot("2-3")
        m.add_kernel_thread(17, b"migration/3", "3")
        done = m.run("isolate", "2-3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("CPUs 2-3 are isolated from tasks and interrupts.", done.stdout)
        self.assertIn("migration/3", done.stdout)
        self.assertEqual(m.read("proc/irq/default_smp_affinity"), "3\n")
        self.assertEqual(m.run("isolate", "1", "--irqs", "--only").returncode, 0)
        self.assertEqual(m.read("proc/irq/default_smp_affinity"), "d\n")
        self.assertEqual(m.run("unisolate").returncode, 0)
        self.assertEqual(m.read("proc/irq/default_smp_affinity"), "f\n")

    def test_json_of_changes(self) -> None:
        m = self.machine
        irqs = ("isolate", "--irqs", "3")
        plan = json.loads(m.run(*irqs, "--dry-run", "--json").stdout)
        self.assertIn("/proc/irq/default_smp_affinity", [step["where"] for step in plan])
        for words, found in ((irqs, "3"), (("unisolate",), "")):
            self.assertEqual(json.loads(m.run(*words, "--json").stdout)["irqs"], found)

    def test_refused(self) -> None:
        m = self.machine
        for words, status in ((("0-3",), 1), (("4",), 1), (("9000",), 2)):
            self.assertEqual(m.run("isolate", *words).returncode, status, words)
        self.assertEqual(m.read("proc/irq/default_smp_affinity"), "f\n")
        for line, status in (("isolate 9000", 2), ("unisolate 0-9000", 2),
                             ("run -c 9000 true", 125)):
            done = run(*line.split())
            self.assertEqual(done.returncode, status, line)
            self.assertIn("Linux has CPUs 0-8191 at most", done.stderr, line)

    def test_without_cgroups(self) -> None:
        self.assertEqual(self.machine.run("isolate", "1").returncode, 4)

    def test_config(self) -> None:
        m = self.machine
        m.write("proc/sys/kernel/timershield", "0")
        m.write("etc/timershield.conf", "cpus = 3\nprocs = no\ntimers = on")
        self.assertIn("The timer shield is on.\n", m.run("isolate", "--config").stdout)
        self.assertEqual(m.read("proc/irq/default_smp_affinity"), "7\n")
        self.assertEqual(m.read("proc/sys/kernel/timershield"), "1\n")
        m.write("etc/timershield.conf", "cpus = none")
        self.assertEqual(m.run("isolate", "--config").returncode, 0)
        self.assertEqual(m.read("proc/irq/default_smp_affinity"), "f\n")
        m.write("proc/sys/kernel/timershield", "0")
        m.write("etc/timershield.conf", "cpus = none\ntimers = on")
        plan = json.loads(m.run("isolate", "--config", "--dry-run", "--json").stdout)
        self.assertEqual(plan, [{"what": "write", "where": "/proc/sys/kernel/timershield",
                                 "value": "1"}])
        self.assertEqual(m.read("proc/sys/kernel/timershield"), "0\n")
        m.write("etc/timershield.conf", "# one\ncpu = 3")
        done = m.run("isolate", "--config")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/etc/timershield.conf:2:", done.stderr)

    def test_config_without_shield(self) -> None:
        """Nothing is isolated; a module would be loaded, but by no dry run."""
        m = self.machine
        m.write("etc/timershield.conf", "cpus = 3\nprocs = no\ntimers = on")
        self.assertEqual(m.run("isolate", "--config").returncode, 4)
        self.assertEqual(m.read("proc/irq/default_smp_affinity"), "f\n")
        m.write("lib/modules/6.12.0/modules.dep", "extra/timershield.ko:")
        done = m.run("isolate", "--config", "--dry-run")
        self.assertIn("modprobe  timershield", done.stdout, done.stderr)

    def test_lines_of_the_configuration(self) -> None:
        m = self.machine
        for text in ("", "# nothing\n\n  cpus = 3 # these\nprocs=no\r\ntimers = keep"):
            m.write("etc/timershield.conf", text)
            done = m.run("isolate", "--config", "--dry-run")
            self.assertEqual(done.returncode, 0, done.stderr)
        for text in ("cpus", "cpus = 1-\n", "cpu = 1", "irqs = maybe", "irqs = ", "timers = yes",
                     "= 1", "cpus 1", "cpus = 1\0"):
            m.write("etc/timershield.conf", text)
            done = m.run("isolate", "--config", "--dry-run")
            self.assertEqual(done.returncode, 1, text)
            self.assertIn("/etc/timershield.conf:", done.stderr)

    def test_keys_of_2_0_are_a_warning(self) -> None:
        """An old file isolates as before, and says which tool has taken over."""
        m = self.machine
        m.write("etc/timershield.conf", "cpus = 3\nprocs = no\nwrite = 1 /proc/sys/vm/x\n"
                                        "priority = 40 irq/*\nthreaded = eth0")
        done = m.run("isolate", "--config")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(m.read("proc/irq/default_smp_affinity"), "7\n")
        for number, text in ((3, "write: use sysctl.d(5) or tmpfiles.d(5)"),
                             (4, "priority: use 'timershield run -p N -P TID'"),
                             (5, "threaded: use 'echo 1 >/sys/class/net/INTERFACE/threaded'")):
            self.assertIn(f"/etc/timershield.conf:{number}: not done: {text}", done.stderr)

    def test_timers(self) -> None:
        m = self.machine
        self.assertEqual(m.run("timers").returncode, 4)
        self.assertEqual(m.run("timers", "on").returncode, 4)
        m.write("proc/sys/kernel/timershield", "1")
        self.assertEqual(m.run("timers").stdout, "The timer shield is on (built in).\n")
        self.assertEqual(json.loads(m.run("timers", "--json").stdout),
                         {"present": True, "kind": "built in", "on": True, "mode": "on"})
        for word, value in (("levels", "2"), ("on", "1"), ("off", "0")):
            self.assertEqual(m.run("timers", word).returncode, 0)
            self.assertEqual(m.read("proc/sys/kernel/timershield"), f"{value}\n")
            state = json.loads(m.run("status", "--json").stdout)["timers"]
            self.assertEqual(state["mode"], word)

    def test_odd_names_keep_json_and_lines_whole(self) -> None:
        m = self.machine
        m.isolate_at_boot("3")
        m.add_kernel_thread(17, b'a"\\\x1b\xff', "3")
        item = json.loads(m.run("status", "--json").stdout)["isolation"]["unmoved"][0]
        self.assertEqual(item["name"], 'a"\\??')
        done = subprocess.run([COMMAND, "status", "--root", str(m.root)], capture_output=True,
                              check=False)
        self.assertNotIn(b"\x1b", done.stdout)


if __name__ == "__main__":
    COMMAND = sys.argv.pop(1)
    unittest.main()
