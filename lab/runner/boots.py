# SPDX-License-Identifier: GPL-2.0-or-later
"""Suites in guests: which share a boot, what a boot runs, and what it leaves."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.boot import qemu
from lab.boot.protocol import Outcome
from lab.kernels import cache, guests, kernels
from lab.kernels.kernels import Kernel
from lab.paths import BUILD, TEST_MODULES
from lab.progress import Progress
from lab.runner.suites import LEVELS, Suite
from lab.runner.verdict import Verdict, judge

KEPT = BUILD / "test"
KMEMLEAK = "/sys/kernel/debug/kmemleak"
SWITCH = "/proc/sys/kernel/timershield"


@dataclass
class Boot:
    """Suites that share one boot."""

    kernel: Kernel
    suites: list[Suite]
    modules: Sequence[Path] = ()
    """Loaded first."""
    spare: Sequence[Path] = ()
    """Modules that a suite may load."""

    def __str__(self) -> str:
        return f"{self.kernel.name}: {', '.join(s.name for s in self.suites)}"

    def machine(self) -> qemu.Machine:
        first = self.suites[0]
        memory = 1024 if self.kernel.debug else 512
        return qemu.Machine(first.cpus, first.threads, first.icount, memory, first.append)

    def commands(self) -> tuple[list[guests.Command], dict[int, Suite]]:
        """The command list, and which of its lines belongs to which suite."""
        commands: list[guests.Command] = []
        owners: dict[int, Suite] = {}
        commands += guests.loading(self.modules)
        # those that mask by level come last; a suite may leave the switch as it likes
        for suite in sorted(self.suites, key=lambda s: s.mode):
            if suite.mode == LEVELS:
                commands.append(guests.Command(("@write", SWITCH, str(LEVELS))))
            owners[len(commands)] = suite
            program = Path(suite.selftest or suite.program).name
            words = ("--one-failure", *suite.args) if suite.must_fail(self.kernel) else suite.args
            commands.append(guests.Command((f"/bin/{program}", *words), suite.timeout))
        if self.kernel.debug:
            # an object counts as lost if it did not change between two scans
            commands += 2 * [guests.Command(("@write", KMEMLEAK, "scan"), 600)]
        return commands, owners


def prepared(kernel: Kernel, wanted: list[Suite], progress: Progress) -> list[Boot]:
    """Build what these suites need on ``kernel``; the boots in which they then run."""
    cache.image(kernel, progress)
    modules = kernels.modules(kernel, progress)
    spare = [*kernels.modules(kernel, progress, TEST_MODULES), *kernels.drivers(kernel)]
    tree = kernels.source_tree(kernel, progress)
    guests.build(kernel.arch, ["init", *(t for s in wanted for t in s.targets(kernel.linux))],
                 (kernel.linux, tree))
    return grouped(kernel, wanted, modules, spare)


def grouped(kernel: Kernel, wanted: list[Suite], modules: Sequence[Path] = (),
            spare: Sequence[Path] = ()) -> list[Boot]:
    """Suites by the machine that they need."""
    groups: dict[tuple[object, ...], Boot] = {}
    for suite in wanted:
        groups.setdefault(suite.boot_key(), Boot(kernel, [], modules, spare)).suites.append(suite)
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


def judged(boot: Boot, run: qemu.Run, owners: dict[int, Suite]) -> tuple[dict[str, Verdict], str]:
    """What each suite did, and what is wrong with the machine; both are kept below build/test."""
    verdicts = {}
    for number, suite in owners.items():
        outcome = run.outcomes[number] if number < len(run.outcomes) else None
        verdicts[suite.name] = judge(suite, outcome)
        if outcome is not None:
            keep(KEPT / boot.kernel.name / suite.name, outcome, run.console)
    if run.failure:
        return verdicts, run.explain()
    unprepared = [o.line for n, o in enumerate(run.outcomes) if n not in owners and o.status]
    return verdicts, f"failed: {unprepared[0]}" if unprepared else ""


def keep(directory: Path, outcome: Outcome, console: str) -> None:
    """Leave there what a suite printed and the files that it made, and nothing else."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    (directory / "output.txt").write_text(outcome.output)
    (directory / "console.txt").write_text(console)
    for name, data in outcome.files.items():
        (directory / name).write_bytes(data)
