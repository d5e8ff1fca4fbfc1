# SPDX-License-Identifier: GPL-2.0-or-later
"""Suites that run for any length of time, and their progress, from their output."""

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from lab.boot import qemu
from lab.errors import LabError
from lab.kernels.kernels import Kernel
from lab.progress import Bar, Progress
from lab.runner import boots, suites
from lab.runner.boots import Boot

KERNELS = ("6.12/x86_64-rt-debug", "6.12/x86_64-preempt-debug", "7.3/x86_64-preempt-debug")
PATIENCE = 3600.0
"""Host seconds; a guest that churns says something every ten seconds of its own."""
_LINE = re.compile(rb"# (\d+) of \d+ s: (.*)")


class HowFar:
    """Understands ``# 120 of 600 s: 4711 timers armed, 0 faults``."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._rest = b""
        self._seconds = 0
        self._found = ""

    def hear(self, output: bytes) -> None:
        """Take in what the suite has printed; a line may come in pieces."""
        *lines, self._rest = (self._rest + output).split(b"\n")
        for line in lines:
            if match := _LINE.fullmatch(line.rstrip(b"\r")):
                done = int(match[1])
                self._bar.advance(done - self._seconds)
                self._seconds, self._found = done, match[2].decode(errors="replace")

    def until_then(self, reports: list[str]) -> str:
        """What is known of one that was stopped. ``reports``: the kernel's."""
        if reports:
            return f"the kernel reported: {reports[0]}"
        if not self._found:
            return "nothing is known of it yet"
        return f"in {self._seconds} s of guest time {self._found}, no report of the kernel"


def totals(output: str) -> list[str]:
    """What a suite says of itself at its end: the line with its seed, and the next."""
    found = re.search(r"^# (seed .*)(?:\n# (.*))?", output, re.MULTILINE)
    return [line for line in found.groups() if line] if found else []


def _soak(progress: Progress, boot: Boot, seconds: int) -> bool:
    [suite] = boot.suites
    with progress.bar(str(boot), seconds) as bar:
        how_far = HowFar(bar)
        run, owners = boots.start(boot, PATIENCE, how_far.hear)
    verdicts, machine = boots.judged(boot, run, owners)
    if run.stopped:
        progress.step(f"{boot}: stopped; {how_far.until_then(run.reports)}")
    wrong = [*verdicts[suite.name].wrong, *([machine] if machine else [])]
    for line in [*totals(verdicts[suite.name].output), *wrong]:
        progress.step(f"{boot}: {line}")
    return not wrong


def run(progress: Progress, names: Sequence[str], patterns: Sequence[str], linux: str,
        seconds: int) -> int:
    """Run the suites that can for so many seconds of guest time; return the exit status."""
    chosen = [k for k in map(Kernel.parse, names) if linux in ("", k.linux)]
    table = [s.soaking(seconds) for s in suites.load().suites if s.soak]
    for pattern in patterns:
        if not any(s.matches(pattern) for s in table):
            raise LabError(f"there is no suite '{pattern}': there are "
                           f"{', '.join(s.name for s in table)}")
    wanted = [s for s in table if not patterns or any(s.matches(p) for p in patterns)]
    planned = [boot for kernel in chosen for boot in boots.prepared(kernel, wanted, progress)]
    with ThreadPoolExecutor(qemu.default_jobs()) as pool:
        try:
            good = list(pool.map(lambda boot: _soak(progress, boot, seconds), planned))
        except BaseException:
            qemu.stop_all()
            raise
    print(f"{good.count(True)} passed, {good.count(False)} failed", flush=True)
    return 0 if good and all(good) else 1
