# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the tests notice defects: ``lab mutants``.

A scratch copy of the patched kernel has all defects in it, one of which the boot parameter
``timershield_mutant=`` puts to work. The table ``mutants.toml`` says who is to notice it. A test
that fails in this kernel without any defect says nothing, so these run first.
"""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lab import guests, kernels, qemu, suites, tap, testing
from lab.errors import LabError
from lab.kernels import Kernel
from lab.paths import BUILD, MUTANTS
from lab.progress import Progress
from lab.suites import Suite
from lab.verdict import judge

TABLE = MUTANTS.with_suffix(".toml")
KEPT = BUILD / "mutants"
PATIENCE = 600.0
"""Seconds without a word from a guest that is not to hang, after which it hangs."""
SHORT_PATIENCE = 60.0
TIMES = 3
"""Where a guest is to hang: at least so many seconds, and so many times as long as the suite takes
altogether without a defect, which depends on what else the machine has to do."""
MANY = 3
"""From more failed tests than that on, their number is told instead of their names."""

Tests = tuple[tuple[str, tuple[str, ...]], ...]
"""Names of suites, and of tests in each; no names: all that the suite runs."""


@dataclass(frozen=True)
class Mutant:
    """One defect."""

    number: int
    defect: str
    suites: Tests
    """Each has to notice it: the named tests, or any."""
    kernel: str = "x86_64-preempt-shielded"
    ends: str = ""
    """How its guest does not reach the end: `hangs`; `dies`, of what its kernel reports."""
    noticed: bool = True


_TYPES: dict[str, type] = {"number": int, "defect": str, "suites": dict, "kernel": str,
                           "ends": str, "noticed": bool}


def _mutant(entry: dict[str, Any], path: Path) -> Mutant:
    what = f"{path}: mutant {entry.get('number', '?')}"
    for key, value in entry.items():
        if type(value) is not _TYPES.get(key):
            raise LabError(f"{what}: there is no key '{key}' with such a value")
    if missing := {"number", "defect", "suites"} - set(entry):
        raise LabError(f"{what}: {', '.join(sorted(missing))} is missing")
    tests = tuple((suite, tuple(names)) for suite, names in entry["suites"].items())
    mutant = Mutant(**{**entry, "suites": tests})
    if mutant.ends not in ("", "hangs", "dies"):
        raise LabError(f"{what}: ends must be hangs or dies")
    known = {s.name for s in suites.load().suites}
    for suite, _ in tests:
        if suite not in known:
            raise LabError(f"{what}: there is no suite '{suite}'")
    return mutant


def load(path: Path = TABLE) -> list[Mutant]:
    """Read and check the table."""
    mutants = [_mutant(entry, path) for entry in suites.entries(path, "mutant")]
    numbers = [m.number for m in mutants]
    if len(set(numbers)) < len(numbers):
        raise LabError(f"{path}: two mutants have the same number")
    return mutants


def chosen(mutants: list[Mutant], only: list[int] | None) -> list[Mutant]:
    """Those of the given numbers, or all."""
    if unknown := set(only or ()) - {m.number for m in mutants}:
        raise LabError(f"there is no mutant {min(unknown)}: there are "
                       f"{', '.join(str(m.number) for m in mutants)}")
    return [m for m in mutants if only is None or m.number in only]


def without_defect(mutants: Iterable[Mutant]) -> Tests:
    """What has to pass without a defect: all that notices one."""
    wanted: dict[str, tuple[str, ...]] = {}
    for mutant in mutants:
        for suite, names in mutant.suites:
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
    """What was seen of a mutant."""

    suites: dict[str, Seen] = field(default_factory=dict)
    failure: str = ""
    """Of the guest: it hangs, dies or the like."""
    explanation: str = ""
    seconds: float = 0.0
    """Of the host, in all."""


def with_defect(suite: Suite, mutant: int, names: tuple[str, ...]) -> Suite:
    """The suite as it runs with a defect: the named tests alone, where it can run these alone."""
    takes_options = any(word.startswith("-") for word in suite.args)
    return replace(suite, args=suite.args if takes_options or not names else names,
                   append=f"{suite.append} timershield_mutant={mutant}".strip())


def _suites(mutant: int, tests: Tests) -> list[Suite]:
    table = {s.name: s for s in suites.load().suites}
    return [with_defect(table[name], mutant, names) for name, names in tests]


def _look(kernel: Kernel, mutant: int, tests: Tests, patience: float = PATIENCE) -> Result:
    result = Result()
    for boot in testing.boots(kernel, _suites(mutant, tests)):
        run, owners = testing.start(boot, patience)
        result.seconds += run.host_seconds
        if run.failure:
            result.failure = run.failure
            result.explanation = run.explain()
        for number, suite in owners.items():
            seen = result.suites.setdefault(suite.name, Seen())
            if number >= len(run.outcomes):
                continue
            outcome = run.outcomes[number]
            testing.keep(KEPT / kernel.name / str(mutant) / suite.name, outcome, run.console)
            lines = tap.parse(outcome.output)
            seen.ran = len(lines.lines)
            seen.failed = [line.name for line in lines.failed]
            verdict = judge(suite, kernel, outcome)
            if verdict.failed and not seen.failed:
                seen.failed = verdict.notes
            if not lines.passed and not seen.failed:
                seen.failed = ["no test ran"]
    return result


def complaint(mutant: Mutant, result: Result) -> str:
    """Why a mutant was not noticed as the table says; nothing if it was."""
    if mutant.ends:
        as_told = result.failure.startswith("the guest hangs") == (mutant.ends == "hangs")
        return "" if result.failure and as_told else \
            f"not noticed: the guest should have ended: {mutant.ends}"
    if result.failure:
        return result.failure
    missed = []
    for suite, names in mutant.suites:
        failed = result.suites[suite].failed
        if not failed:
            missed.append(suite)
        missed += [f"{suite} {name}" for name in names if failed and name not in failed]
    return f"not noticed by {', '.join(missed)}" if missed else ""


def verdict(mutant: Mutant, result: Result) -> tuple[bool, str]:
    """Whether all is as the table says, and what there is to tell."""
    why = complaint(mutant, result)
    seen = "; ".join(f"{name} {what}" for name, what in result.suites.items() if what.failed)
    if not mutant.noticed:
        return bool(why), "not noticed, as expected" if why else f"now seen by {seen}"
    if why:
        return False, f"{why}; seen by {seen or 'none'}\n{result.explanation}".rstrip()
    return True, f"seen: {result.failure}" if mutant.ends else f"seen by {seen}"


def patience(mutant: Mutant, clean: Mapping[str, "Future[Result]"]) -> float:
    """How long to wait for a word; ``clean`` is what the suites do without a defect."""
    if mutant.ends != "hangs":
        return PATIENCE
    return max(SHORT_PATIENCE,
               TIMES * sum(clean[name].result().seconds for name, _ in mutant.suites))


def clean_verdict(suite: str, result: Result) -> tuple[bool, str]:
    """The verdict on a suite in the kernel without a defect."""
    seen = result.suites[suite]
    if result.failure or seen.failed:
        return False, f"{seen}\n{result.explanation}".rstrip()
    return True, f"{seen.ran} passed"


def _on_kernel(
    progress: Progress, name: str, mutants: list[Mutant], tell: Callable[[str, bool, str], None],
) -> None:
    """Everything on one kernel."""
    kernel = Kernel.parse(f"{name}-{kernels.DEFECTS}")
    kernels.build(kernel, progress)
    tests = without_defect(mutants)
    programs = [target for suite in _suites(0, tests) for target in suite.targets]
    guests.build(kernel.arch, ["init", *programs], kernels.source_tree(kernel, progress))
    with progress.bar(f"defects in {name}", len(tests) + len(mutants)) as bar, ThreadPoolExecutor(
        qemu.default_jobs()
    ) as pool:
        # in the order of submission, so whoever waits for one of these does not keep it waiting
        clean = {suite: pool.submit(_look, kernel, 0, ((suite, names),))
                 for suite, names in tests}
        looks = [pool.submit(lambda m: _look(kernel, m.number, m.suites, patience(m, clean)), m)
                 for m in mutants]
        try:
            for suite, run in clean.items():
                tell(f"no defect, {suite}", *clean_verdict(suite, run.result()))
                bar.advance()
            for mutant, look in zip(mutants, looks, strict=True):
                tell(f"{mutant.number}: {mutant.defect}", *verdict(mutant, look.result()))
                bar.advance()
        except BaseException:
            qemu.stop_all()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def run(progress: Progress, only: list[int] | None = None) -> int:
    """Try all defects, or those of the given numbers; return the exit status."""
    wanted = chosen(load(), only)
    counts = {True: 0, False: 0}

    def tell(what: str, good: bool, text: str) -> None:
        counts[good] += 1
        indented = text.replace("\n", "\n        ")
        progress.step(f"{'ok' if good else 'FAILED':8}{what}: {indented}")

    for name in dict.fromkeys(m.kernel for m in wanted):
        _on_kernel(progress, name, [m for m in wanted if m.kernel == name], tell)
    print(f"{counts[True]} passed, {counts[False]} failed", flush=True)
    return 1 if counts[False] else 0
