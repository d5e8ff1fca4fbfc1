# SPDX-License-Identifier: GPL-2.0-or-later
"""prove on the machine itself: its output, and that nothing is left, however it ends.

Whether its figures and verdicts are right is tested in guests (tests/prove.c).
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

COMMAND = ""
STATE = Path("/run/timershield/prove")
SWITCH = Path("/proc/sys/kernel/timershield")
LOADS = ["nothing", "timerfds", "threads", "synchronized", "hogs"]


def start(*words: str) -> "subprocess.Popen[str]":
    """Start it for a second."""
    return subprocess.Popen([COMMAND, "prove", "-s", "1", *words], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run it for a second and wait for its end."""
    return subprocess.run([COMMAND, "prove", "-s", "1", *words], capture_output=True, text=True,
                          check=False, timeout=60)


def loads() -> list[str]:
    """The loads' processes that live."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().partition(" (")[2].rpartition(") ")
        except (OSError, UnicodeDecodeError):
            continue
        if name == "prove-load" and not rest.startswith("Z"):
            found.append(stat.parent.name)
    return found


def switch() -> str:
    return SWITCH.read_text() if SWITCH.exists() else ""


@unittest.skipUnless(os.geteuid() == 0, "FIFO is for root")
class ProveTest(unittest.TestCase):
    """Each test leaves the machine as it was."""

    def setUp(self) -> None:
        self.before = switch()

    def check_nothing_left(self, group: str = "") -> None:
        deadline = time.monotonic() + 5
        while loads() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(loads(), [])
        self.assertFalse(STATE.exists())
        self.assertEqual(switch(), self.before)
        if group:
            self.assertFalse(Path(group).exists())

    def test_json_and_report(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            page = Path(directory) / "page.html"
            page.write_text("x" * 1000000)      # what was there before is gone
            done = run("--json", f"--report={page}")
            self.assertEqual(done.returncode, 0, done.stderr)
            text = page.read_text()
        found = json.loads(done.stdout)
        self.assertEqual([load["load"] for load in found["loads"]], LOADS)
        for load in found["loads"]:
            offs = [turn for turn in load["turns"] if not turn["shield_on"]]
            self.assertEqual(len(offs), 2)
            for turn in load["turns"]:
                self.assertGreaterEqual(turn["max_ns"], turn["p99_9_ns"])
                self.assertGreaterEqual(turn["p99_9_ns"], turn["p50_ns"])
                self.assertGreater(turn["p50_ns"], 100000)
        self.assertGreater(found["threshold_ns"], found["round_ns"])
        self.assertEqual(text.count("<svg"), len(LOADS))
        self.assertTrue(text.rstrip().endswith("</html>"))
        self.assertIn(f"prove -s 1 --json --report={page}", text)
        self.check_nothing_left()

    def test_signals_end_it(self) -> None:
        for number, later in ((signal.SIGINT, 1), (signal.SIGTERM, 1.5), (signal.SIGHUP, 0.5)):
            process = start()
            time.sleep(later)
            process.send_signal(number)
            _, err = process.communicate(timeout=30)
            self.assertEqual(process.returncode, 1, err)
            self.assertIn("everything is as before", err)
            self.check_nothing_left()

    def test_the_next_start_puts_back_what_a_kill_left(self) -> None:
        groups = []
        for step in range(12):
            process = start()
            time.sleep(0.002 * 1.8 ** step)
            process.kill()
            process.communicate()
            if STATE.exists():
                groups += [line.partition(" ")[2] for line in STATE.read_text().splitlines()
                           if line.startswith("group ")]
        self.assertTrue(groups, "it was never killed while something was changed")
        self.assertEqual(run().returncode, 0)
        self.check_nothing_left(groups[-1])

    def test_damaged_state(self) -> None:
        STATE.parent.mkdir(exist_ok=True)
        STATE.write_text("nonsense\n")
        self.addCleanup(STATE.unlink, missing_ok=True)
        done = run()
        self.assertEqual(done.returncode, 5)
        self.assertIn(str(STATE), done.stderr)

    def test_report_that_cannot_be_written(self) -> None:
        done = run("--report=/nonexistent/page.html")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent/page.html", done.stderr)
        self.assertEqual(run("--report=/dev/full").returncode, 1)
        self.check_nothing_left()


if __name__ == "__main__":
    COMMAND = sys.argv.pop(1)
    unittest.main()
