# SPDX-License-Identifier: GPL-2.0-or-later
"""What an experiment is, and how its programs are run on a guest or on the host."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lab import processes
from lab.boot import qemu
from lab.boot.protocol import Outcome
from lab.errors import LabError
from lab.kernels import guests, kernels
from lab.kernels.arch import own
from lab.measure import results, spans
from lab.measure.spans import Span
from lab.measure.systems import MODES, SWITCH, Mode, Platform, System
from lab.progress import Bar, Progress
from lab.report.claims import Claim, Goal
from lab.report.page import Part, Section

FAIR_SERVER = "/sys/kernel/debug/sched/fair_server/cpu{}/runtime"
"""The scheduler's guard against starvation: it wakes up once a second, in the middle of a job if
that is when a second has passed. Like real-time throttling it is switched off in guests, on stock
and shielded kernels alike, so that what is left is what tasks' timers do."""
WITHOUT_FAIR_SERVER = ("6.1",)
SETTLING = "3"
"""Seconds: a kernel of a distribution still sets itself up after it has started init."""


@dataclass(frozen=True)
class Scenario:
    """One run of a guest program."""

    name: str
    title: str
    words: tuple[str, ...]
    timeout: int = 120
    program: str = ""
    """Another program than the experiment's."""
    tools: tuple[str, ...] = ()
    """Programs that it calls."""


@dataclass
class Context:
    """What the user asked for."""

    progress: Progress
    root: Path
    """Where results go."""
    platforms: list[Platform] = field(
        default_factory=lambda: [Platform("x86_64", "preempt")])
    modes: list[Mode] = field(default_factory=lambda: list(MODES))
    jobs: int = 1000
    only: list[str] = field(default_factory=list)
    """Names of scenarios; empty: all."""
    offered: set[str] = field(default_factory=set)
    """Names that could have been chosen of what was run."""
    cpu: int = 0
    host: bool = False
    quick: bool = False
    """A tenth of the samples; ``jobs`` is already that."""
    parallel: int = field(default_factory=qemu.default_jobs)

    def wants(self, scenario: str, usually: bool = True) -> bool:
        """Whether a scenario is to be run; ``usually``: if the user did not name any."""
        self.offered.add(scenario)
        return scenario in self.only if self.only else usually

    def require_offered(self, known: Collection[str]) -> None:
        """Fail if the user named one of ``known`` that nothing of what was run has."""
        left = [s for s in self.only if s in known and s not in self.offered]
        if left:
            raise LabError(f"not measured, as none of these systems has it: {', '.join(left)}")

    def store(self, experiment: str) -> results.Store:
        """Where an experiment's results go."""
        return results.Store(self.root, experiment, self.progress.step)

    def without_off(self) -> "Context":
        """The same, but for the shield of a guest that is only switched off.

        On the machine itself that is what there is to compare with.
        """
        modes = [m for m in self.modes if m != "off"]
        return self if self.host or not modes else replace(self, modes=modes)

    def systems(self, arch: str = "", cpus: int = 1, off: bool = True) -> list[System]:
        """What to boot: every mode of every platform, or of those of one architecture.

        ``off``: also with the shield switched off.
        """
        return [System(p, m, cpus) for p in self.platforms for m in p.modes(self.modes)
                if arch in ("", p.arch) and (off or m != "off")]

    def samples(self, usual: int) -> int:
        """How many to take of something of which there usually are so many."""
        return max(usual // 10, 1) if self.quick else usual


class Experiment(ABC):
    """A file in experiments defines one of these."""

    name: str
    title: str
    guests_only: str = ""
    """Why it cannot be run on the machine itself; empty: it can."""

    @abstractmethod
    def scenarios(self) -> dict[str, str]:
        """Names and titles of all that the user can choose from."""

    @abstractmethod
    def run(self, context: Context) -> None:
        """Measure, and leave results in the store."""

    def goals(self, store: results.Store) -> list[Goal]:
        """Judge the results that are there."""
        return []

    def has_goals(self) -> bool:
        """Whether there are results that it judges."""
        return type(self).goals is not Experiment.goals

    def claims(self, store: results.Store) -> list[Claim]:
        """The experiment's rows in the table that the report begins with."""
        return []

    @abstractmethod
    def parts(self, store: results.Store) -> list[Part]:
        """What the report shows of the experiment."""

    def section(self, store: results.Store) -> Section:
        """The experiment's part of the report."""
        return Section(self.title, self.name, self.parts(store), self.goals(store),
                       self.claims(store))


def run_guest(
    context: Context,
    experiment: str,
    systems: Sequence[System],
    program: str,
    scenarios: Sequence[Scenario],
    watched: Sequence[Span] = (),
    turn: int = 0,
) -> None:
    """Run every scenario on every system, one boot per system, several side by side.

    What the kernel executes in the spans ``watched`` is kept as spans.csv of each scenario; the
    program has to call getitimer() when recording is to begin and to end. ``cpus`` and ``turn`` are
    the guest's (qemu.Machine).
    """
    if not scenarios:
        return
    store = context.store(experiment)
    errors: list[str] = []
    ready = _ready(context, systems, _programs(program, scenarios), errors)
    total = len(ready) * len(scenarios)
    with context.progress.bar(f"{experiment}: running guests", total) as bar:
        errors += _in_parallel(context.parallel, [
            (lambda s=system: _run_system(store, s, program, scenarios, bar, watched,
                                           qemu.Machine(s.cpus, turn=turn), context.progress))
            for system in ready
        ])
    if errors:
        raise LabError("\n".join(errors))


def _ready(
    context: Context, systems: Sequence[System], programs: Sequence[str], errors: list[str]
) -> list[System]:
    """The systems whose kernel and programs could be built; the others go into ``errors``."""
    failed: set[kernels.Kernel] = set()
    for kernel in sorted({s.kernel for s in systems}):
        try:
            kernels.build(kernel, context.progress)
            guests.build(kernel.arch, ["init", *programs])
        except LabError as error:
            errors.append(str(error))
            failed.add(kernel)
    return [s for s in systems if s.kernel not in failed]


def check_scenarios(experiments: Sequence[Experiment], only: Sequence[str]) -> None:
    """Fail if ``only`` has a name that none of ``experiments`` knows, or one of them knows none."""
    known = {e.name: e.scenarios() for e in experiments}
    everything = {s: None for names in known.values() for s in names}
    for scenario in only:
        if scenario not in everything:
            raise LabError(f"there is no scenario '{scenario}': there are {', '.join(everything)}")
    for name, names in known.items():
        if only and not any(s in names for s in only):
            raise LabError(f"{name} has no scenario '{', '.join(only)}': there are "
                           f"{', '.join(names)}")


def check_target(experiments: Sequence[Experiment], host: bool) -> None:
    """Fail if one is to run on this machine and cannot."""
    for experiment in experiments:
        if host and experiment.guests_only:
            raise LabError(f"{experiment.name} runs in guests only: {experiment.guests_only}")


def run_all(calls: Sequence[Callable[[], None]]) -> None:
    """Call one after the other; failures are reported after the others had their chance."""
    errors = []
    for call in calls:
        try:
            call()
        except LabError as error:
            errors.append(str(error))
    if errors:
        raise LabError("\n".join(dict.fromkeys(errors)))


def _programs(program: str, scenarios: Sequence[Scenario]) -> list[str]:
    return sorted({s.program or program for s in scenarios}
                  | {tool for s in scenarios for tool in s.tools})


def _in_parallel(width: int, calls: Sequence[Any]) -> list[str]:
    """Run all; return what failed."""
    with ThreadPoolExecutor(width) as pool:
        futures = [pool.submit(call) for call in calls]
        try:
            errors = [e for f in futures if (e := f.exception()) is not None]
        except BaseException:
            qemu.stop_all()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    for error in errors:
        if not isinstance(error, LabError):
            raise error
    return [str(e) for e in errors]


def before(system: System, modules: Sequence[Path], cpus: int) -> list[guests.Command]:
    """What a guest does before it measures."""
    commands = guests.loading(modules)
    if system.kernel.debian:
        commands.append(guests.Command(("@sleep", SETTLING)))
    if system.kernel.linux not in WITHOUT_FAIR_SERVER:
        commands += [guests.Command(("@write", FAIR_SERVER.format(cpu), "0"))
                     for cpu in range(cpus)]
    if system.unloads:
        commands.append(guests.unloading(modules[-1]))
    if system.switch is not None:
        commands.append(guests.Command(("@write", str(SWITCH), system.switch)))
    return commands


def _run_system(
    store: results.Store,
    system: System,
    program: str,
    scenarios: Sequence[Scenario],
    bar: Bar,
    watched: Sequence[Span],
    machine: qemu.Machine,
    progress: Progress,
) -> None:
    if watched and system.kernel.debian:
        raise LabError(f"{system.kernel.name}: what a kernel executes can be counted in the lab's "
                       "own only, whose symbols are known")
    modules = kernels.modules(system.kernel, progress)
    programs = _programs(program, scenarios)
    commands = [
        *before(system, modules, machine.cpus),
        *(guests.Command((f"/bin/{Path(s.program or program).name}", *s.words), s.timeout)
          for s in scenarios),
    ]
    initrd = guests.image(guests.output(system.kernel.arch), programs, commands, modules)
    timeout = max(c.timeout for c in commands)

    def advance(outcome: Outcome) -> None:
        if any(f"/bin/{Path(p).name}" in outcome.line for p in programs):
            bar.advance()

    with tempfile.TemporaryDirectory(prefix="timershield-") as name:
        watch = spans.Watch(watched, Path(name))
        options = watch.options(system.kernel) if watched else ()
        run = qemu.run_commands(system.kernel, initrd, replace(machine, options=options),
                                timeout, advance)
        if run.failure:
            raise LabError(run.explain())
        seen = watch.samples() if watched else None
    offset = len(commands) - len(scenarios)
    for outcome in run.outcomes[:offset]:
        if outcome.status:
            raise LabError(f"{system.name}: {outcome.line}: {outcome.output}")
    with store.replacing(system.name) as directory:
        for number, (scenario, outcome) in enumerate(
            zip(scenarios, run.outcomes[offset:], strict=True)
        ):
            _keep(directory, system, scenario, outcome)
            if seen is not None:
                (directory / scenario.name / "spans.csv").write_text(
                    spans.csv(spans.select(seen, seen["window"] == number), watched))
        results.write_meta(directory, {
            "system": system.described(),
            "target": "guest",
            "kernel": run.transcript.uname,
            "image": _digest(system.kernel.image),
            "time": "instruction-counted: 1 instruction = 1 ns, "
                    + ("1 virtual CPU" if machine.cpus == 1
                       else f"{machine.cpus} virtual CPUs that take turns"),
            "qemu": qemu.version(system.kernel.arch),
            "scenarios": [s.name for s in scenarios],
            "titles": {s.name: s.title for s in scenarios},
            "commands": {s.name: " ".join([s.program or program, *s.words]) for s in scenarios},
        })


def _digest(image: Path) -> str:
    """What tells a kernel from others: builds are reproducible, so ``uname`` is always the same."""
    return hashlib.sha256(image.read_bytes()).hexdigest()[:16]


def _keep(directory: Path, system: System, scenario: Scenario, outcome: Outcome) -> None:
    if outcome.timed_out:
        raise LabError(f"{system.name}: {scenario.name} took more than {scenario.timeout} s")
    if outcome.status:
        raise LabError(
            f"{system.name}: {scenario.name} failed with status {outcome.status}:\n"
            f"{outcome.output.rstrip()}"
        )
    (directory / scenario.name).mkdir()
    for name, data in outcome.files.items():
        (directory / scenario.name / name).write_bytes(data)


def run_host(
    context: Context,
    experiment: str,
    modes: Sequence[Mode],
    program: str,
    scenarios: Sequence[Scenario],
) -> None:
    """Run every scenario on this machine; kernel.timershield is put back afterwards."""
    if not scenarios:
        return
    store = context.store(experiment)
    arch = own().name
    binary = guests.build(arch, [program]) / program
    before = SWITCH.read_text() if SWITCH.exists() else None
    try:
        with context.progress.bar(f"{experiment}: running", len(modes) * len(scenarios)) as bar:
            for mode in modes:
                system = System(None, mode)
                if system.switch is not None:
                    SWITCH.write_text(system.switch)
                _run_host_system(store, system, binary, scenarios, bar)
    finally:
        if before is not None:
            SWITCH.write_text(before)


def _run_host_system(
    store: results.Store,
    system: System,
    binary: Path,
    scenarios: Sequence[Scenario],
    bar: Bar,
) -> None:
    with store.replacing(system.name) as directory:
        for scenario in scenarios:
            outcome = _run_on_host(binary, scenario)
            _keep(directory, system, scenario, outcome)
            bar.advance()
        results.write_host_meta(
            directory, system, {s.name: s.title for s in scenarios},
            {s.name: " ".join([binary.name, *s.words]) for s in scenarios})


def _run_on_host(binary: Path, scenario: Scenario) -> Outcome:
    outcome = Outcome(scenario.name)
    with tempfile.TemporaryDirectory(prefix="timershield-") as name:
        os.chmod(name, 0o755)
        try:
            done = processes.run([str(binary), *scenario.words], name, scenario.timeout + 60)
        except subprocess.TimeoutExpired:
            outcome.timed_out = True
            return outcome
        outcome.output = done.stdout
        outcome.status = done.returncode
        outcome.files = {p.name: p.read_bytes() for p in sorted(Path(name).iterdir())}
    return outcome


def calibrate_on_host(program: str) -> str:
    """The rounds of work that take the program's nominal time on this machine."""
    arch = own().name
    binary = guests.build(arch, [program]) / program
    if not shutil.which(str(binary)):
        raise LabError(f"{binary} cannot be run here")
    done = processes.run([str(binary), "--calibrate"], stderr=subprocess.PIPE)
    if done.returncode:
        raise LabError(f"{program} --calibrate: {done.stderr.strip()}")
    return done.stdout.strip()
