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
MANUAL = SOURCE / "man/timershield.8"
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


def with_options(manual: str) -> str:
    """The manual page with the lists of options that the command prints for it."""
    def block(found: "re.Match[str]") -> str:
        printed = subprocess.run([COMMAND, "help", "--roff", found[1]], capture_output=True,
                                 text=True, check=True).stdout
        return f'.\\" options of {found[1]}\n{printed}.\\" end\n'

    return re.sub(r'^\.\\" options of (\w+)\n(?:.*\n)*?\.\\" end\n', block, manual,
                  flags=re.MULTILINE)


class InstalledTest(unittest.TestCase):
    """Each option is described and completed."""

    def test_manual_has_the_options_of_help(self) -> None:
        manual = MANUAL.read_text()
        self.assertEqual(manual, with_options(manual), "run tests/test_install.py COMMAND --update")

    @unittest.skipUnless(shutil.which("groff"), "no groff")
    def test_manual_is_correct(self) -> None:
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z",
                               str(SOURCE / "man/timershield.8")],
                              capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")

    def test_completion(self) -> None:
        self.assertLessEqual({"status", "isolate", "run"}, complete(""))
        for verb in ("status", "isolate", "unisolate", "run", "blame", "measure", "prove"):
            offered = {word.rstrip("=") for word in complete(verb, "--")}
            self.assertLessEqual(options(verb) - {"--help"}, offered, verb)
        self.assertEqual(complete("blame", "--source", ""), {"bpf", "trace"})
        self.assertEqual(complete("blame", "--source", "=", "t"), {"trace"})
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
    if sys.argv[1:] == ["--update"]:
        MANUAL.write_text(with_options(MANUAL.read_text()))
    else:
        unittest.main()
