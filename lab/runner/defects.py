# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the tests notice defects: ``lab/lab defects``.

A scratch copy of the patched kernel has all defects in it, one of which the boot parameter
``timershield_defect=`` enables. The table ``defects.toml`` names the tests that must notice it.
A test that fails in this kernel without any defect says nothing, so these run first.

A defect of the module is a sed command, for a copy of its sources that is built and loaded instead.

Defects of the timer queue need no guest: each line of ``kernel/tests/defects`` has a sed command
that puts one into a copy of the header that the queue's test in user space is compiled with.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lab.boot import qemu
from lab.boot.qemu import End
from lab.errors import LabError
from lab.kernels import guests, kernels
from lab.kernels.kernels import Kernel
from lab.paths import BUILD, DEFECTS, MODULE, REPO
from lab.progress import Progress
from lab.runner import boots, suites
from lab.runner.suites import Suite
from lab.runner.verdict import judge

TABLE = DEFECTS.with_suffix(".toml")
KEPT = BUILD / "defects"
PATIENCE = 600.0
"""Seconds without a word from a guest that is not to hang, after which it hangs."""
SHORT_PATIENCE = 60.0
TIMES = 3
"""Where a guest is to hang: at least so many seconds, and so many times as long as the suite takes
altogether without a defect, which depends on what else the machine has to do."""
MANY = 3
"""Above this many failures, print the count."""

Tests = tuple[tuple[str, tuple[str, ...]], ...]
"""Names of suites, and of tests in each; no names: all that the suite runs."""


@dataclass(frozen=True)
class Defect:
    """One defect."""

    number: int
    what: str
    suites: Tests
    """Each has to notice it: the named tests, or any."""
    kernel: str = "7.3/x86_64-preempt-shielded"
    module: str = ""
    """The sed -E command that puts it into the module; the kernel loads that."""
    ends: str = ""
    """How its guest does not reach the end: `hangs`; `dies`, of what its kernel reports."""


_TYPES: dict[str, type] = {"what": str, "suites": dict, "kernel": str,
                           "module": str, "ends": str}


def _defect(number: str, entry: dict[str, Any], path: Path) -> Defect:
    what = f"{path}: defect {number}"
    suites.check_keys(entry, _TYPES, what)
    if missing := {"what", "suites"} - set(entry):
        raise LabError(f"{what}: {', '.join(sorted(missing))} is missing")
    tests = tuple((suite, tuple(names)) for suite, names in entry["suites"].items())
    defect = Defect(int(number), **{**entry, "suites": tests})
    if defect.ends not in ("", "hangs", "dies"):
        raise LabError(f"{what}: ends must be hangs or dies")
    if bool(defect.module) != defect.kernel.endswith(f"-{kernels.MODULE_VARIANT}"):
        raise LabError(f"{what}: module goes with a kernel that loads the module")
    known = {s.name for s in suites.load().suites}
    for suite, _ in tests:
        if suite not in known:
            raise LabError(f"{what}: there is no suite '{suite}'")
    return defect


def load(path: Path = TABLE) -> list[Defect]:
    """Read and check the table."""
    table = suites.read(path).get("defect", {})
    return [_defect(number, entry, path) for number, entry in table.items()]


def chosen(defects: list[Defect], only: list[int] | None) -> list[Defect]:
    """Those of the given numbers, or all."""
    if unknown := set(only or ()) - {m.number for m in defects}:
        raise LabError(f"there is no defect {min(unknown)}: there are "
                       f"{', '.join(str(m.number) for m in defects)}")
    return [m for m in defects if only is None or m.number in only]


def without_defect(defects: Iterable[Defect]) -> Tests:
    """What has to pass without a defect: all that notices one."""
    wanted: dict[str, tuple[str, ...]] = {}
    for defect in defects:
        for suite, names in defect.suites:
            before = wanted.get(suite, names)
            wanted[suite] = tuple(dict.fromkeys((*before, *names))) if before and names else ()
    return tuple(wanted.items())


@dataclass
class Seen:
    """What became of one suite, or of the guest as a whole."""

    ran: int = 0
    failed: list[str] = field(default_factory=list)
    """Names of tests; or what else went wrong."""

    def __str__(self) -> str:
        if len(self.failed) > MANY:
            return f"{len(self.failed)} of {self.ran}"
        return ", ".join(self.failed)


@dataclass
class Result:
    """What was seen of a defect."""

    suites: dict[str, Seen] = field(default_factory=dict)
    failure: str = ""
    """Of the guest: it hangs, dies or the like."""
    end: End = End.DONE
    explanation: str = ""
    seconds: float = 0.0
    """Of the host, in all."""


def with_defect(suite: Suite, defect: int, names: tuple[str, ...]) -> Suite:
    """The suite as it runs with a defect: the named tests alone, where it can run these alone."""
    takes_options = any(word.startswith("-") for word in suite.args)
    return replace(suite, args=suite.args if takes_options or not names else names,
                   append=f"{suite.append} timershield_defect={defect}".strip())


def _suites(defect: int, tests: Tests) -> list[Suite]:
    table = {s.name: s for s in suites.load().suites}
    return [with_defect(table[name], defect, names) for name, names in tests]


def _look(kernel: Kernel, defect: int, tests: Tests, modules: Sequence[Path],
          patience: float = PATIENCE) -> Result:
    result = Result()
    for boot in boots.grouped(kernel, _suites(defect, tests), modules):
        run, owners = boots.start(boot, patience)
        result.seconds += run.host_seconds
        if run.failure:
            result.failure, result.end = run.failure, run.end
            result.explanation = run.explain()
        for number, suite in owners.items():
            seen = result.suites.setdefault(suite.name, Seen())
            if number >= len(run.outcomes):
                continue
            outcome = run.outcomes[number]
            boots.keep(KEPT / kernel.name / str(defect) / suite.name, outcome, run.console)
            verdict = judge(suite, outcome)
            seen.ran = len(verdict.passed) + len(verdict.failed) + len(verdict.skipped)
            seen.failed = verdict.failed or verdict.wrong
            if not verdict.passed and not seen.failed:
                seen.failed = ["no test ran"]
    return result


def complaint(defect: Defect, result: Result) -> str:
    """Why a defect was not noticed as the table says; nothing if it was."""
    if defect.ends:
        as_told = (result.end is End.HANGS) == (defect.ends == "hangs")
        return "" if result.failure and as_told else \
            f"not noticed: the guest should have ended: {defect.ends}"
    if result.failure:
        return result.failure
    missed = []
    for suite, names in defect.suites:
        failed = result.suites[suite].failed
        if not failed:
            missed.append(suite)
        missed += [f"{suite} {name}" for name in names if failed and name not in failed]
    return f"not noticed by {', '.join(missed)}" if missed else ""


def verdict(defect: Defect, result: Result) -> tuple[bool, str]:
    """Whether all is as the table says, and what there is to tell."""
    why = complaint(defect, result)
    seen = "; ".join(f"{name} {what}" for name, what in result.suites.items() if what.failed)
    if why:
        return False, f"{why}; seen by {seen or 'none'}\n{result.explanation}".rstrip()
    return True, f"seen: {result.failure}" if defect.ends else f"seen by {seen}"


def patience(defect: Defect, clean: Mapping[str, "Future[Result]"]) -> float:
    """How long to wait for a word; ``clean`` is what the suites do without a defect."""
    if defect.ends != "hangs":
        return PATIENCE
    return max(SHORT_PATIENCE,
               TIMES * sum(clean[name].result().seconds for name, _ in defect.suites))


def clean_verdict(suite: str, result: Result) -> tuple[bool, str]:
    """The verdict on a suite in the kernel without a defect."""
    seen = result.suites[suite]
    if result.failure or seen.failed:
        return False, f"{seen}\n{result.explanation}".rstrip()
    return True, f"{seen.ran} passed"


QUEUE_TESTS = REPO / "kernel" / "tests"
QUEUE = REPO / "kernel" / "src" / "kernel" / "time"
QUEUE_HEADERS = ("timershield_levels.h", "timershield_minima.h")
QUEUE_SECONDS = 60
"""A test of the queue that runs for longer hangs, which counts as noticed."""


def _copy_with(command: str, files: Sequence[Path], where: Path) -> None:
    """Copies of the files, changed by a sed command."""
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    for file in files:
        shutil.copyfile(file, where / file.name)
    subprocess.run(["sed", "-E", "-i", command, *(where / f.name for f in files)], check=True)
    if all((where / f.name).read_bytes() == f.read_bytes() for f in files):
        raise LabError(f"{command}: changes nothing")


def _modules(kernel: Kernel, defect: Defect, progress: Progress) -> list[Path]:
    """What the kernel loads to have the defect."""
    if not defect.module:
        return []
    where = KEPT / kernel.name / f"module-{defect.number}"
    _copy_with(defect.module, [p for p in MODULE.iterdir() if p.is_file()], where)
    return kernels.modules(kernel, progress, where)


def _queue_notices(tree: Path, where: Path, command: str) -> bool:
    """Whether the queue's test fails with headers that the sed command has changed."""
    _copy_with(command, [QUEUE / name for name in QUEUE_HEADERS], where)
    # without sanitizers, which take too long to compile
    done = subprocess.run(
        ["make", "-s", "-C", str(QUEUE_TESTS), f"KERNEL_TREE={tree}", f"O={where}",
         f"QUEUE={where}", "TEST_CFLAGS=-std=gnu11 -O1 -w", f"{where}/queue"],
        capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"{command}: does not compile:\n{done.stderr}")
    try:
        return subprocess.run([str(where / "queue")], capture_output=True, check=False,
                              timeout=QUEUE_SECONDS).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def of_queue(tree: Path, table: Path = QUEUE_TESTS / "defects") -> dict[str, bool]:
    """Try the defects of the timer queue with a tree of Linux 7.3; whether each was noticed."""
    lines = [line for line in table.read_text().splitlines() if line and line[0] != "#"]
    commands = {name: command for name, _, command in (line.partition("\t") for line in lines)}
    work = BUILD / "queue-tests" / "defects"
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        seen = pool.map(lambda n, command: _queue_notices(tree, work / str(n), command),
                        range(len(commands)), commands.values())
        return dict(zip(commands, seen, strict=True))


def _on_kernel(
    progress: Progress, name: str, defects: list[Defect], tell: Callable[[str, bool, str], None],
) -> None:
    """Everything on one kernel."""
    in_module = any(m.module for m in defects)
    kernel = Kernel.parse(name if in_module else f"{name}-{kernels.WITH_DEFECTS}")
    kernels.build(kernel, progress)
    modules = {m.number: _modules(kernel, m, progress) for m in defects}
    modules[0] = kernels.modules(kernel, progress)
    tests = without_defect(defects)
    programs = [target for suite in _suites(0, tests) for target in suite.targets(kernel.linux)]
    guests.build(kernel.arch, ["init", *programs])
    with progress.bar(f"defects in {name}", len(tests) + len(defects)) as bar, ThreadPoolExecutor(
        qemu.default_jobs()
    ) as pool:
        # in the order of submission, so a look that waits for one of these does not delay it
        clean = {suite: pool.submit(_look, kernel, 0, ((suite, names),), modules[0])
                 for suite, names in tests}
        looks = [pool.submit(lambda m: _look(kernel, m.number, m.suites, modules[m.number],
                                             patience(m, clean)), m) for m in defects]
        try:
            for suite, run in clean.items():
                tell(f"no defect, {suite}", *clean_verdict(suite, run.result()))
                bar.advance()
            for defect, look in zip(defects, looks, strict=True):
                tell(f"{defect.number}: {defect.what}", *verdict(defect, look.result()))
                bar.advance()
        except BaseException:
            qemu.stop_all()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def run(progress: Progress, only: list[int] | None = None, queue: bool = False) -> int:
    """Try all defects, those of these numbers or the queue's; return the exit status."""
    wanted = [] if queue else chosen(load(), only)
    counts = {True: 0, False: 0}

    def tell(what: str, good: bool, text: str) -> None:
        counts[good] += 1
        indented = text.replace("\n", "\n        ")
        progress.step(f"{'ok' if good else 'FAILED':8}{what}: {indented}")

    if only is None:
        for what, seen in of_queue(kernels.stock_tree(progress, "7.3")).items():
            tell(f"queue: {what}", seen, "seen" if seen else "not noticed")
    for name in dict.fromkeys(m.kernel for m in wanted):
        _on_kernel(progress, name, [m for m in wanted if m.kernel == name], tell)
    print(f"{counts[True]} passed, {counts[False]} failed", flush=True)
    return 1 if counts[False] else 0
