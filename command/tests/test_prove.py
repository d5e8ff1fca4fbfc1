# SPDX-License-Identifier: GPL-2.0-or-later
"""prove on the machine itself: its output.

Whether its figures and verdicts are right, and that it leaves nothing behind however it ends, is
tested in guests (tests/prove.sh).
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COMMAND = ""
STATE = Path("/run/timershield/journal")
LOADS = ["nothing", "timerfds", "threads", "synchronized", "hogs"]


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run it for a second and wait for its end."""
    return subprocess.run([COMMAND, "prove", "-s", "1", *words], capture_output=True, text=True,
                          check=False, timeout=60)


@unittest.skipUnless(os.geteuid() == 0, "FIFO is for root")
class ProveTest(unittest.TestCase):
    """A second each."""

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
        self.assertEqual(text.count("viewBox=\"0 0 430 "), 2 * len(LOADS))
        self.assertTrue(text.rstrip().endswith("</html>"))
        self.assertIn(f"prove -s 1 --json --report={page}", text)

    def test_verdict_first_and_no_line_too_long(self) -> None:
        lines = run().stdout.splitlines()
        self.assertRegex(lines[0], "^(A|The) shield |^Could not tell")
        self.assertLessEqual(max(map(len, lines)), 80, lines)

    def test_damaged_state(self) -> None:
        if STATE.exists():
            self.skipTest("CPUs are isolated here")
        STATE.parent.mkdir(exist_ok=True)
        STATE.write_text("nonsense\n")
        self.addCleanup(STATE.unlink, missing_ok=True)
        for words in ((), ("--report=/dev/full",)):
            done = run(*words)
            self.assertEqual(done.returncode, 5, words)
            self.assertIn(str(STATE), done.stderr)

    def test_report_that_cannot_be_written(self) -> None:
        done = run("--report=/nonexistent/page.html")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent/page.html", done.stderr)
        self.assertEqual(run("--report=/dev/full").returncode, 1)


if __name__ == "__main__":
    COMMAND = sys.argv.pop(1)
    unittest.main()
