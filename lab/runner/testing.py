# SPDX-License-Identifier: GPL-2.0-or-later
"""``make test``: everything that can fail, with one line of totals at the end."""

import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from lab.boot import qemu
from lab.boot.protocol import Outcome
from lab.errors import LabError
from lab.kernels import guests, kernels
from lab.kernels.kernels import Kernel
from lab.paths import BUILD, TEST_MODULES
from lab.progress import Progress
from lab.runner import host_tests, matrix, self_test, soak, suites
from lab.runner.suites import Suite, Suites
from lab.runner.verdict import Verdict, failure, judge

KEPT = BUILD / "test"
KMEMLEAK = "/sys/kernel/debug/kmemleak"
MONITORS = [f"/sys/kernel/tracing/rv/monitors/timershield_{name}" for name in ("mask", "hold")]
"""Of runtime verification, in tests/monitors.patch."""


@dataclass
class Selection:
    """What the user wants to run."""

    kernels: list[str] | None = None
    suites: list[str] = field(default_factory=list)
    soak: int = 0
    """Seconds of guest time; not 0: run only suites that can run for any length of time."""
    linux: str = ""
    """Kernels of this version only; empty: of all."""
    host: bool = True
    guests: bool = True

    def chosen_kernels(self) -> list[Kernel]:
        """Which kernels to boot."""
        names = self.kernels or list(matrix.SOAK if self.soak else matrix.KERNELS)
        if self.kernels or self.soak:
            # of this version unless a name says another
            found = [Kernel.parse(name, self.linux or kernels.DEFAULT_LINUX) for name in names]
        else:
            found = [Kernel.parse(name) for name in names]
        chosen = [k for k in found if self.linux in ("", k.linux)]
        if not chosen:
            raise LabError(f"none of {', '.join(names)} is Linux {self.linux}")
        return chosen

    def table(self) -> Suites:
        """Suites to choose from; each pattern of the user's has to name one."""
        table = suites.load()
        if self.soak:
            table = Suites([s.soaking(self.soak) for s in table.suites if s.soak])
        for pattern in self.suites:
            if not any(s.matches(pattern) for s in table.suites):
                raise LabError(f"there is no suite '{pattern}': there are "
                               f"{', '.join(s.name for s in table.suites)}")
        return table


@dataclass
class Boot:
    """Suites that share one boot."""

    kernel: Kernel
    suites: list[Suite]
    modules: Sequence[Path] = ()
    """Loaded first."""
    spare: Sequence[Path] = ()
    """Modules that a suite may load."""
    soak: int = 0
    """Seconds of guest time that its only suite goes on for; 0: it ends by itself."""

    def machine(self) -> qemu.Machine:
        first = self.suites[0]
        memory = 1024 if self.kernel.debug else 512
        return qemu.Machine(first.cpus, first.threads, first.icount, memory, first.append)

    def commands(self) -> tuple[list[guests.Command], dict[int, Suite]]:
        """The command list, and which of its lines belongs to which suite."""
        commands: list[guests.Command] = []
        owners: dict[int, Suite] = {}
        commands += guests.loading(self.modules)
        if self.kernel.monitored:
            commands += [guests.Command(("@write", f"{monitor}/{file}", text))
                         for monitor in MONITORS
                         for file, text in (("reactors", "printk"), ("enable", "1"))]
        for suite in self.suites:
            owners[len(commands)] = suite
            program = Path(suite.selftest or suite.program).name
            commands.append(guests.Command((f"/bin/{program}", *suite.args), suite.timeout))
        if self.kernel.debug:
            # an object counts as lost if it did not change between two scans
            commands += 2 * [guests.Command(("@write", KMEMLEAK, "scan"), 600)]
        return commands, owners


def boots(kernel: Kernel, wanted: list[Suite], seconds: int = 0,
          modules: Sequence[Path] = (), spare: Sequence[Path] = ()) -> list[Boot]:
    """Group suites by the machine that they need. ``seconds``: what they soak for, if they do."""
    groups: dict[tuple[object, ...], Boot] = {}
    for suite in wanted:
        boot = groups.setdefault(suite.boot_key(), Boot(kernel, [], modules, spare, seconds))
        boot.suites.append(suite)
    return list(groups.values())


def start(boot: Boot, patience: float | None = None,
          on_output: Callable[[bytes], None] | None = None) -> tuple[qemu.Run, dict[int, Suite]]:
    """Run a boot, and say which of its outcomes belongs to which suite.

    ``patience``, ``on_output``: see :func:`lab.boot.qemu.run_commands`.
    """
    commands, owners = boot.commands()
    out = guests.output(boot.kernel.arch)
    programs = [target for s in boot.suites for target in s.targets(boot.kernel.linux)]
    initrd = guests.image(out, programs, commands, [*boot.modules, *boot.spare])
    timeout = max(c.timeout for c in commands)
    return qemu.run_commands(boot.kernel, initrd, boot.machine(), timeout,
                             patience=patience, on_output=on_output), owners


def _run_boot(progress: Progress, boot: Boot) -> list[Verdict]:
    try:
        return _boot_verdicts(progress, boot)
    except (LabError, OSError) as error:
        names = ", ".join(s.name for s in boot.suites)
        return [failure(f"{boot.kernel.name} boot for {names}", error)]


def _boot_verdicts(progress: Progress, boot: Boot) -> list[Verdict]:
    if not boot.soak:
        return _verdicts(boot, *start(boot))
    title = f"{boot.kernel.name} {boot.suites[0].name}"
    with progress.bar(title, boot.soak) as bar:
        how_far = soak.HowFar(bar)
        run, owners = start(boot, soak.PATIENCE, how_far.hear)
    if run.stopped:
        progress.step(f"{title}: stopped; {how_far.until_then(run.reports)}")
    return _verdicts(boot, run, owners)


def _verdicts(boot: Boot, run: qemu.Run, owners: dict[int, Suite]) -> list[Verdict]:
    verdicts = []
    for number, suite in owners.items():
        outcome = run.outcomes[number] if number < len(run.outcomes) else None
        verdict = judge(suite, boot.kernel, outcome)
        if outcome is not None:
            keep(KEPT / boot.kernel.name / suite.name, outcome, run.console)
            if boot.soak:
                verdict.notes += soak.totals(outcome.output)
            if verdict.failed:
                verdict.notes += [f"| {line}" for line in outcome.output.splitlines()[-40:]]
        verdicts.append(verdict)
    machine = Verdict(f"{boot.kernel.name} kernel silent during "
                      + ", ".join(s.name for s in boot.suites))
    unprepared = [o.line for n, o in enumerate(run.outcomes) if n not in owners and o.status]
    if run.failure:
        machine.fail(run.explain())
    elif unprepared:
        machine.fail(f"failed: {unprepared[0]}")
    else:
        machine.passed = 1
    if run.boots > 1:
        machine.notes.append(f"booted {run.boots} times: the emulator executed code that had "
                             "been patched (QEMU before 8.1)")
    return [*verdicts, machine]


def keep(directory: Path, outcome: Outcome, console: str) -> None:
    """Leave there what a suite printed and the files that it made, and nothing else."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    (directory / "output.txt").write_text(outcome.output)
    (directory / "console.txt").write_text(console)
    for name, data in outcome.files.items():
        (directory / name).write_bytes(data)


def _self_test(kernel: Kernel) -> list[Verdict]:
    try:
        return self_test.run(kernel)
    except (LabError, OSError) as error:
        return [failure(f"{kernel.name} guests that go wrong on purpose", error)]


def _guest_verdicts(
    progress: Progress, chosen: list[Kernel], table: Suites, selection: Selection,
    count: Callable[[Verdict], None],
) -> None:
    planned: list[Boot] = []
    for kernel in chosen:
        meant = table.for_kernel(kernel, selection.suites)
        wanted = [s for s in meant if not s.hangs_on(kernel)]
        if len(wanted) < len(meant):
            progress.step(f"{kernel.name}: left out, since a QEMU before 8.1 hangs (docs/lab.md): "
                          + ", ".join(s.name for s in meant if s not in wanted))
        if not meant:
            progress.step(f"{kernel.name}: no suite is meant for it")
        if not wanted:
            continue
        try:
            kernels.build(kernel, progress)
            modules = kernels.modules(kernel, progress)
            spare = [*kernels.modules(kernel, progress, TEST_MODULES), *kernels.drivers(kernel)]
            tree = kernels.source_tree(kernel, progress)
            guests.build(kernel.arch,
                         ["init", *(t for s in wanted for t in s.targets(kernel.linux))],
                         (kernel.linux, tree))
        except (LabError, OSError) as error:
            count(failure(f"{kernel.name} build", error))
            continue
        planned += boots(kernel, wanted, selection.soak, modules, spare)
    if planned and not selection.suites:
        with progress.bar("guests that go wrong on purpose", None):
            for verdict in _self_test(planned[0].kernel):
                count(verdict)
    _boot_all(progress, planned, count)


def _boot_all(progress: Progress, planned: list[Boot], count: Callable[[Verdict], None]) -> None:
    with progress.bar("guest tests", len(planned)) as bar, ThreadPoolExecutor(
        qemu.default_jobs()
    ) as pool:
        futures = [pool.submit(_run_boot, progress, boot) for boot in planned]
        try:
            for future in futures:
                for verdict in future.result():
                    count(verdict)
                bar.advance()
        except BaseException:
            qemu.stop_all()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def show(progress: Progress, verdict: Verdict) -> None:
    """One line for the verdict, and what there is to say about failures."""
    word = "FAILED" if verdict.failed else "ok" if verdict.passed else "skipped"
    counts = f"{verdict.passed} passed, {verdict.failed} failed"
    if verdict.skipped:
        counts += f", {verdict.skipped} skipped"
    progress.step(f"{word:8}{verdict.name}: {counts}")
    for note in verdict.notes:
        progress.step("        " + note.replace("\n", "\n        "))


def run(progress: Progress, selection: Selection) -> int:
    """Run everything selected; return the exit status."""
    totals = Verdict("all")
    chosen, table = selection.chosen_kernels(), selection.table()

    def count(verdict: Verdict) -> None:
        show(progress, verdict)
        totals.passed += verdict.passed
        totals.failed += verdict.failed

    if selection.host:
        for test in host_tests.TESTS:
            with progress.bar(test.name, None):
                verdict = test.run()
            count(verdict)
    if selection.guests:
        _guest_verdicts(progress, chosen, table, selection, count)
    print(f"{totals.passed} passed, {totals.failed} failed", flush=True)
    return 1 if totals.failed or not totals.passed else 0
