# SPDX-License-Identifier: GPL-2.0-or-later
"""pytest runs the guests: each test of a suite on a kernel is an item of suites.toml.

Kernels are built, and guests booted, in the background, once the unit tests are over. Only suites
with a chosen test are booted, those of one machine together.
"""

import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.boot import qemu
from lab.errors import LabError
from lab.kernels import guests, kernels
from lab.kernels.arch import own
from lab.kernels.kernels import Kernel
from lab.progress import Progress
from lab.runner import boots, suites
from lab.runner.boots import Boot
from lab.runner.suites import Suite
from lab.runner.verdict import Verdict

KERNELS = "debian12/6.12-module,debian12/6.12,7.3/x86_64-preempt-shielded"
"""The module on Debian's kernel; without it, where the same must fail; and one that is built."""
MUST_FAIL = "fails_without_the_shield"
WANTED = pytest.StashKey[list["Guest"]]()
GUESTS = pytest.StashKey["Guests"]()
Ran = tuple[dict[str, Verdict], str]
"""What each suite of a boot did, and what is wrong with the machine."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("guests")
    group.addoption("--kernels", default=KERNELS, help=f"boot these ({KERNELS})")
    group.addoption("--linux", default="", help="the version where a name has none, and the only "
                    "one of the default kernels")
    group.addoption("--suites", default="*", help="only suites that match these shell patterns")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "Table | None":
    return Table.from_parent(parent, path=file_path) if file_path == suites.TABLE else None


@pytest.fixture(scope="session")
def chosen(pytestconfig: pytest.Config) -> list[Kernel]:
    """The kernels that guests run on."""
    return chosen_kernels(pytestconfig)


def chosen_kernels(config: pytest.Config) -> list[Kernel]:
    linux, names = config.getoption("linux"), config.getoption("kernels")
    found = [Kernel.parse(n, linux or kernels.DEFAULT_LINUX) for n in names.split(",") if n]
    if names == KERNELS and linux:
        found = [Kernel.parse(n) for n in names.split(",")]
        found = [k for k in found if k.linux == linux]
    if not found:
        raise pytest.UsageError(f"--kernels={names} --linux={linux}: there is no such kernel")
    return found


class Table(pytest.File):
    """suites.toml."""

    def collect(self) -> Iterator[pytest.Collector]:
        try:
            table, patterns = suites.load(), self.config.getoption("suites").split(",")
            for pattern in patterns:
                if not any(s.matches(pattern) for s in table.suites):
                    raise LabError(f"there is no suite '{pattern}': there are "
                                   f"{', '.join(s.name for s in table.suites)}")
            for kernel in chosen_kernels(self.config):
                yield OnKernel.from_parent(self, name=kernel.name, kernel=kernel,
                                           suites=table.for_kernel(kernel, patterns))
        except LabError as error:
            raise pytest.UsageError(str(error)) from None


class OnKernel(pytest.Collector):
    """Suites on one kernel."""

    def __init__(self, *, kernel: Kernel, suites: list[Suite], **more: Any) -> None:
        super().__init__(**more)
        self.kernel, self.suites = kernel, suites

    def collect(self) -> "Iterator[Guest]":
        out = guests.build(own().name, [f"tests/{s.program}" for s in self.suites if s.program])
        for suite in self.suites:
            if suite.must_fail(self.kernel):
                yield Guest.from_parent(self, name=f"{suite.name}: {MUST_FAIL}",
                                        kernel=self.kernel, suite=suite)
                continue
            tests = self._tests(out, suite)
            for test in tests:
                yield Guest.from_parent(self, name=f"{suite.name}: {test}", kernel=self.kernel,
                                        suite=suite, test=test, all_tests=tests)
            if not tests:
                yield Guest.from_parent(self, name=suite.name, kernel=self.kernel, suite=suite)

    def _tests(self, out: Path, suite: Suite) -> list[str]:
        """Names of tests that it can run one by one."""
        if not suite.program or any(word.startswith("-") for word in suite.args):
            return []
        if suite.args:
            return list(suite.args)
        done = subprocess.run([out / "tests" / suite.program, "--list"], capture_output=True,
                              text=True, check=True)
        return done.stdout.split()


class Guest(pytest.Item):
    """A test in a guest; without a name, a whole suite."""

    def __init__(self, *, kernel: Kernel, suite: Suite, test: str = "",
                 all_tests: Sequence[str] = (), **more: Any) -> None:
        super().__init__(**more)
        self.kernel, self.suite, self.test, self.all_tests = kernel, suite, test, all_tests
        self.boot_key = (kernel, *suite.boot_key())
        if suite.hangs_on(kernel):
            self.add_marker(pytest.mark.skip("a QEMU before 8.1 hangs (docs/tests.md)"))

    def runtest(self) -> None:
        verdict = self.session.stash[GUESTS].of(self)[0][self.suite.name]
        said = verdict.said.get(self.test, verdict.output)
        self.add_report_section("call", "output", said)
        if self.suite.must_fail(self.kernel):
            self._must_have_failed(verdict)
            return
        failed = [t for t in verdict.failed if self.test in ("", t)]
        if wrong := [w for w in (verdict.crashed, *verdict.complaints, *failed) if w]:
            raise LabError("; ".join(wrong))
        if self.test not in ("", *verdict.passed, *verdict.skipped):
            raise LabError("did not run")
        if self.test in verdict.skipped or not verdict.passed:
            pytest.skip(said.strip())

    def _must_have_failed(self, verdict: Verdict) -> None:
        if verdict.crashed:
            raise LabError(verdict.crashed)
        if not verdict.failed and not verdict.complaints:
            if verdict.skipped and not verdict.passed:
                pytest.skip("all of it was skipped")
            raise LabError("passes without the shield: it cannot tell")

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Without the way through our own code."""
        if isinstance(excinfo.value, LabError | OSError):
            return f"{self.kernel.name} {self.name}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self.kernel.name} {self.name}"


class Machine(Guest):
    """The kernel of a boot reported nothing, and came to its end."""

    def runtest(self) -> None:
        if wrong := self.session.stash[GUESTS].of(self)[1]:
            raise LabError(wrong)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note what the chosen tests need.

    Each boot gets its :class:`Machine`. What follows the host's clock comes last, by itself.
    """
    booted: dict[object, list[Guest]] = defaultdict(list)
    for item in session.items:
        if isinstance(item, Guest) and not item.suite.hangs_on(item.kernel):
            booted[item.boot_key].append(item)
    if not booted or session.config.getoption("collectonly"):
        return
    wanted = [i for group in booted.values() for i in group]
    session.stash[WANTED] = wanted
    for first, *rest in booted.values():
        names = ", ".join(dict.fromkeys(i.suite.name for i in (first, *rest)))
        session.items.append(Machine.from_parent(
            first.parent or session, name=f"silent during {names}", kernel=first.kernel,
            suite=first.suite))
    session.items.sort(key=lambda i: isinstance(i, Guest) and (1 if i.suite.icount else 2))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin in the background; not during unit tests, which change what the lab's modules see."""
    wanted = item.session.stash.get(WANTED, [])
    if wanted and GUESTS not in item.session.stash and item.path.parent == suites.TABLE.parent:
        item.session.stash[GUESTS] = Guests(
            wanted, give_way=not all(isinstance(i, Guest) for i in item.session.items))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if GUESTS in session.stash:
        session.stash[GUESTS].end()


def pytest_unconfigure(config: pytest.Config) -> None:
    """The last line of all."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    passed, failed, errors, skipped = (len(reporter.stats.get(word, ()))
                                       for word in ("passed", "failed", "error", "skipped"))
    reporter.write_line(f"{passed} passed, {failed + errors} failed"
                        + (f", {skipped} skipped" if skipped else ""))


class Lines(Progress):
    """Progress between the dots, past pytest's capture."""

    after_dots = False
    out = sys.stdout

    def step(self, text: str) -> None:
        print("\n" * self.after_dots + text, file=self.out, flush=True)
        Lines.after_dots = False


def pytest_configure() -> None:
    """Before anything is captured."""
    Lines.out = os.fdopen(os.dup(1), "w")


def pytest_runtest_logreport() -> None:
    Lines.after_dots = True


def _run_with(policy: int) -> None:
    """For a thread and what it starts. SCHED_IDLE: the tests on the host come first."""
    os.sched_setscheduler(0, policy, os.sched_param(0))


class Guests:
    """Builds kernels and boots guests while the tests before them run."""

    def __init__(self, items: list[Guest], give_way: bool) -> None:
        self._progress = Lines()
        policy = os.SCHED_IDLE if give_way else os.SCHED_OTHER
        self._builder = ThreadPoolExecutor(1, initializer=_run_with, initargs=(policy,))
        self._pool = ThreadPoolExecutor(qemu.default_jobs(), initializer=_run_with,
                                        initargs=(policy,))
        self._alone: dict[object, Ran] = {}
        # Debian's first, which need no build: both CPUs have guests while the others are built
        self._kernels = {
            kernel: self._builder.submit(
                self._prepare, kernel, [i for i in items if i.kernel == kernel])
            for kernel in sorted(dict.fromkeys(i.kernel for i in items),
                                 key=lambda k: not k.debian)}

    def _prepare(self, kernel: Kernel, items: list[Guest]) -> "dict[object, Boot | Future[Ran]]":
        """Build ``kernel``, and boot what need not have the host for itself."""
        tests: dict[Suite, list[str]] = defaultdict(list)
        for item in items:
            tests[item.suite].append(item.test)
        few = {i.suite for i in items if len(tests[i.suite]) < len(i.all_tests)}
        wanted = [replace(s, args=tuple(tests[s])) if s in few else s for s in tests]
        return {(kernel, *boot.suites[0].boot_key()):
                self._pool.submit(self._boot, boot) if boot.machine().icount else boot
                for boot in boots.prepared(kernel, wanted, self._progress)}

    def _boot(self, boot: Boot) -> Ran:
        start = time.monotonic()
        run, owners = boots.start(boot)
        again = f", booted {run.boots} times (lab/boot/stale_code.py)" if run.boots > 1 else ""
        self._progress.step(f"{boot}: {time.monotonic() - start:.0f} s{again}")
        return boots.judged(boot, run, owners)

    def of(self, item: Guest) -> Ran:
        """What came out of its boot."""
        found = self._kernels[item.kernel].result()[item.boot_key]
        if isinstance(found, Future):
            return found.result()
        if item.boot_key not in self._alone:
            self._alone[item.boot_key] = self._boot(found)
        return self._alone[item.boot_key]

    def end(self) -> None:
        """Boot nothing more."""
        qemu.stop_all()
        for pool in (self._builder, self._pool):
            pool.shutdown(wait=True, cancel_futures=True)
