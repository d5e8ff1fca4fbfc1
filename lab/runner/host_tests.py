# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that need no guest: the lab's own, linters, the queue in user space, clockfix."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kernel.tools import patchset
from lab import processes
from lab.errors import LabError
from lab.kernels.kernels import (
    MONITORS,
    locked,
    patched_tree,
    stock_tree,
)
from lab.kernels.toolchain import meson_ready
from lab.measure import clockfix_bench
from lab.paths import BUILD, DEFECTS, REPO
from lab.progress import Progress
from lab.runner.verdict import Verdict, failure

MINUTE = 60
TAIL = 60
_NAMES_A_FAILURE = re.compile(r"^(FAIL|ERROR|not ok)\b|^\w*Error: ")
VENV_PYTHON = REPO / "build" / "venv" / "bin" / "python"
"""Where make installs ruff and mypy; ``lab/lab`` itself runs on the system's Python."""


@dataclass(frozen=True)
class HostTest:
    """One thing to run, and how to count what it prints."""

    name: str
    check: Callable[[], Verdict]

    def run(self) -> Verdict:
        """Its verdict; a failure if something that it needs is missing."""
        try:
            return self.check()
        except (LabError, OSError) as error:
            return failure(self.name, error)


def _call(
    name: str, command: list[str], cwd: Path = REPO, minutes: float = 20,
) -> tuple[Verdict, str]:
    """Run ``command``; the verdict has a failure only if it could not run to its end."""
    verdict = Verdict(name)
    try:
        done = processes.run(command, cwd, minutes * MINUTE)
    except subprocess.TimeoutExpired:
        verdict.fail(f"did not end within {minutes} minutes")
        return verdict, ""
    except FileNotFoundError:
        verdict.fail(f"{command[0]} is missing")
        return verdict, ""
    if done.returncode:
        verdict.fail(f"exit status {done.returncode}")
        lines = done.stdout.splitlines()
        verdict.notes += [f"| {line}" for line in lines[:-TAIL] if _NAMES_A_FAILURE.search(line)]
        verdict.notes += [f"| {line}" for line in lines[-TAIL:]]
    return verdict, done.stdout


def _settle(verdict: Verdict, passed: int, failed: int) -> Verdict:
    """Replace the one failure of a tool's exit status by the tests that it counted."""
    if failed:
        verdict.failed = failed
    verdict.passed = passed
    if not passed and not verdict.failed:
        verdict.fail("ran no test")
    return verdict


def _module(name: str, module: str, *arguments: str) -> tuple[Verdict, str]:
    """Run a Python module, that of make's virtual environment if there is one."""
    python = VENV_PYTHON if VENV_PYTHON.exists() else sys.executable
    verdict, text = _call(name, [str(python), "-m", module, *arguments])
    if verdict.failed and f"No module named {module}" in text:
        verdict.notes = [f"{module} is not installed; 'make test' brings it"]
    return verdict, text


def _pytest() -> Verdict:
    verdict, text = _module("lab unit tests", "pytest", "-q", "-p", "no:cacheprovider",
                            "lab", "experiments")
    return _settle_words(verdict, text)


def _settle_words(verdict: Verdict, text: str) -> Verdict:
    """Count what one or several runs of pytest or cargo say."""
    counts = Counter[str]()
    for n, word in re.findall(r"(\d+) (passed|failed|error)", text):
        counts[word] += int(n)
    return _settle(verdict, counts["passed"], counts["failed"] + counts["error"])


def _linter(name: str, module: str, *arguments: str) -> Verdict:
    verdict, _ = _module(name, module, *arguments)
    verdict.passed = int(not verdict.failed)
    return verdict


def _shellcheck() -> Verdict:
    verdict, _ = _call("shellcheck", ["make", "-s", "--no-print-directory", "shellcheck"])
    verdict.passed = int(not verdict.failed)
    return verdict


def _queue() -> Verdict:
    tree = patched_tree(Progress())
    with locked("queue-tests"):
        return _counted("timer queue in user space", [
            "make", "-s", "--no-print-directory", "-C", str(REPO / "kernel" / "tests"),
            f"KERNEL_TREE={tree}", f"O={BUILD / 'queue-tests'}", "check",
        ])


def _counted(name: str, command: list[str]) -> Verdict:
    """Run what ends with "N passed, N failed"."""
    verdict, text = _call(name, command)
    counts = re.findall(r"^(\d+) passed, (\d+) failed$", text, re.MULTILINE)
    passed, failed = map(int, counts[-1]) if counts else (0, 0)
    return _settle(verdict, passed, failed)


def _queue_defects() -> Verdict:
    with locked("queue-tests"):
        return _counted("defects of the timer queue",
                        [sys.executable, "-m", "lab", "defects", "--queue"])


def _defects() -> Verdict:
    """``lab/lab defects`` takes too long to run here; at least its patches must not go stale."""
    for linux, more in (("6.12", (DEFECTS,)), ("7.3", (DEFECTS, MONITORS))):
        patchset.compute(stock_tree(Progress(), linux), patchset.texts(linux, *more))
    return Verdict("planted defects and monitors fit the kernel", passed=1)


_MESON_COUNT = re.compile(r"^(Ok|Fail|Timeout|Unexpected Pass|Expected Fail): +(\d+)",
                          re.MULTILINE)


def _settle_meson(verdict: Verdict, text: str) -> Verdict:
    """Count what one or several runs of ``meson test`` say."""
    counts = [(word, int(n)) for word, n in _MESON_COUNT.findall(text)]
    return _settle(verdict, sum(n for word, n in counts if word in ("Ok", "Expected Fail")),
                   sum(n for word, n in counts if word not in ("Ok", "Expected Fail")))


def _meson(name: str, source: Path, build: Path, *options: str) -> Verdict:
    if not meson_ready(build, source):
        verdict, _ = _call(name, ["meson", "setup", *options, str(build), str(source)])
        if verdict.failed:
            return verdict
    # "meson test" alone builds no manual pages, which a test installs
    verdict, _ = _call(name, ["meson", "compile", "-C", str(build)])
    if verdict.failed:
        return verdict
    verdict, text = _call(name, ["meson", "test", "-C", str(build), "--print-errorlogs"])
    return _settle_meson(verdict, text)


def _clockfix() -> Verdict:
    return _meson("libclockfix", REPO / "clockfix", clockfix_bench.DIRECTORY)


def _binding(language: str, *targets: str) -> Verdict:
    tools = f"{VENV_PYTHON.parent}/" if VENV_PYTHON.exists() else ""
    verdict, text = _call(f"clockfix: {language}", [
        "make", "-C", str(REPO / "clockfix" / language), f"TOOLS={tools}", *targets])
    return _settle_words(verdict, text)


def _command() -> Verdict:
    # not build/command, which the README has the user install
    return _meson("timershield", REPO / "command", BUILD / "command-test", "-Dwerror=true",
                  "-Db_sanitize=address,undefined")


def _clockfix_sanitizers() -> Verdict:
    verdict, text = _call("libclockfix: ASan, UBSan, TSan",
                          [str(REPO / "clockfix" / "tests" / "sanitizers"),
                           str(clockfix_bench.DIRECTORY)])
    return _settle_meson(verdict, text)


PROGRAMS = sorted(str(path.relative_to(REPO)) for path in (REPO / "clockfix").rglob("*.py")
                  # has a configuration of its own
                  if REPO / "clockfix" / "python" not in path.parents)
TESTS = [
    HostTest("lab unit tests", _pytest),
    HostTest("ruff", lambda: _linter(
        "ruff", "ruff", "check", "lab", "experiments", "kernel", "clockfix", "command")),
    HostTest("mypy", lambda: _linter("mypy", "mypy")),
    HostTest("shellcheck", _shellcheck),
    HostTest("timer queue in user space", _queue),
    HostTest("defects of the timer queue", _queue_defects),
    HostTest("planted defects fit the kernel", _defects),
    HostTest("libclockfix", _clockfix),
    HostTest("libclockfix: ASan, UBSan, TSan", _clockfix_sanitizers),
    HostTest("clockfix: python", lambda: _binding("python", "lint", "check", "check-sanitized")),
    HostTest("clockfix: rust", lambda: _binding(
        "rust", "lint", "check", "check-sanitized", "crate")),
    HostTest("mypy: libclockfix", lambda: _linter("mypy: libclockfix", "mypy", *PROGRAMS)),
    HostTest("timershield", _command),
]
