# SPDX-License-Identifier: GPL-2.0-or-later
"""Manual page, completion and example agree with the command."""

import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

SOURCE = Path(__file__).parent.parent
VERBS = ("status", "isolate", "unisolate", "run", "blame", "prove")
COMMAND = ""


def options(verb: str) -> set[str]:
    """The long options that a verb's help names."""
    done = subprocess.run([COMMAND, "help", verb], capture_output=True, text=True, check=True)
    return set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+)", done.stdout))


def complete(*words: str) -> set[str]:
    """What bash would offer for the last word."""
    script = ('source "$1"; shift; compopt() { :; }; COMP_WORDS=("$@"); '
              "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _timershield; "
              'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", script, "bash", str(SOURCE / "completion/timershield"),
                           "timershield", *words], capture_output=True, text=True, check=True,
                          env=os.environ | {"PATH": f"{Path(COMMAND).parent}:{os.environ['PATH']}"})
    return set(done.stdout.split())


class InstalledTest(unittest.TestCase):
    """Each option is described and completed."""

    def test_manual(self) -> None:
        source = (SOURCE / "man/timershield.8").read_text()
        manual = subprocess.run([COMMAND, "help", "--roff"], input=source, capture_output=True,
                                text=True, check=True).stdout
        for verb in VERBS:
            lists = manual.partition(f'.SH "timershield {verb}"')[2].partition(".SH")[0]
            named = set(re.findall(r"--[a-z][a-z-]+", lists.replace("\\-", "-")))
            self.assertLessEqual(options(verb) - {"--json", "--help"}, named, verb)
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=manual,
                                  capture_output=True, text=True, check=True)
            self.assertEqual(done.stderr, "")

    def test_completion(self) -> None:
        self.assertLessEqual({"status", "isolate", "run"}, complete(""))
        for verb in VERBS:
            offered = {word.rstrip("=") for word in complete(verb, "--")}
            self.assertLessEqual(options(verb) - {"--help"}, offered, verb)
        self.assertEqual(complete("run", "--policy", "=", "f"), {"fifo"})
        self.assertIn("0", complete("isolate", ""))
        self.assertEqual(complete("timers", "o"), {"on", "off"})
        self.assertEqual(complete("run", "-s", "f"), {"fifo"})
        self.assertIn("bash", complete("run", "--", "bas"))

    def test_example_configuration(self) -> None:
        done = subprocess.run([COMMAND, "isolate", "--dry-run",
                               f"--config={SOURCE / 'systemd/timershield.conf'}"],
                              capture_output=True, text=True, check=False)
        self.assertNotIn("timershield.conf:", done.stderr)


if __name__ == "__main__":
    COMMAND = sys.argv.pop(1)
    unittest.main()
