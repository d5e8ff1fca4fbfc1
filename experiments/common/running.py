# SPDX-License-Identifier: GPL-2.0-or-later
"""Running an experiment's programs on guests or on this machine, and keeping their samples."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.common.before import before
from experiments.common.experiment import Context, Scenario
from experiments.measure import results, spans
from experiments.measure.spans import Span
from experiments.measure.systems import SWITCH, System
from lab import processes
from lab.boot import qemu
from lab.boot.protocol import Outcome
from lab.errors import LabError
from lab.kernels import guests, kernels
from lab.kernels.arch import own
from lab.kernels.platforms import Mode
from lab.progress import Bar, Progress

_built: set[kernels.Kernel] = set()
"""By this process. Only to see that there is nothing to build takes five seconds of a CPU."""


def run_guest(
    context: Context,
    experiment: str,
    systems: Sequence[System],
    program: str,
    scenarios: Sequence[Scenario],
    watched: Sequence[Span] = (),
    turn: int = 0,
    options: tuple[str, ...] = (),
) -> None:
    """Run every scenario on every system, one boot per system, several side by side.

    What the kernel executes in the spans ``watched`` is kept as spans.csv of each scenario; the
    program has to call getitimer() when recording is to begin and to end. ``turn`` and
    ``options`` are the guest's (qemu.Machine).
    """
    if not scenarios:
        return
    store = context.store(experiment)
    errors: list[str] = []
    ready = _ready(context, systems, _programs(program, scenarios), errors)
    total = len(ready) * len(scenarios)
    with context.progress.bar(f"{experiment}: running guests", total) as bar:
        errors += _in_parallel(context.parallel, [
            (lambda s=system: _run_system(store, s, program, _possible(s, scenarios), bar, watched,
                                           qemu.Machine(s.cpus, turn=turn, options=options),
                                           context.progress))
            for system in ready if _possible(system, scenarios)
        ])
    if errors:
        raise LabError("\n".join(errors))


def _possible(system: System, scenarios: Sequence[Scenario]) -> list[Scenario]:
    """Those that its shield can mask the load of."""
    return [s for s in scenarios if s.shield != "2" or system.levels]


def _ready(
    context: Context, systems: Sequence[System], programs: Sequence[str], errors: list[str]
) -> list[System]:
    """The systems whose kernel and programs could be built; the others go into ``errors``."""
    failed: set[kernels.Kernel] = set()
    for kernel in sorted({s.kernel for s in systems}):
        try:
            if kernel not in _built:
                kernels.build(kernel, context.progress)
                _built.add(kernel)
            guests.build(kernel.arch, ["init", *programs])
        except LabError as error:
            errors.append(str(error))
            failed.add(kernel)
    return [s for s in systems if s.kernel not in failed]


def _programs(program: str, scenarios: Sequence[Scenario]) -> list[str]:
    """Also the experiment's own if no scenario runs it: its content tells samples apart."""
    return sorted({program} | {s.program or program for s in scenarios}
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


def _turn(system: System, scenario: Scenario, program: str) -> list[guests.Command]:
    """The program, in the mode of the shield that masks its load."""
    mode = guests.Command(("@write", str(SWITCH), scenario.shield))
    name = Path(scenario.program or program).name
    run = guests.Command((f"/bin/{name}", *scenario.words), scenario.timeout)
    return [run] if system.mode in (Mode.STOCK, Mode.OFF) else [mode, run]


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
        raise LabError(f"{system.kernel.name}: counting instructions needs a kernel that the lab "
                       "has built: one with symbols")
    modules = kernels.modules(system.kernel, progress)
    programs = _programs(program, scenarios)
    first = before(system, modules, machine.cpus)
    offset = len(first)
    commands = [*first, *(c for s in scenarios for c in _turn(system, s, program))]
    initrd = guests.image(guests.output(system.kernel.arch), programs, commands, modules)
    timeout = max(c.timeout for c in commands)

    def advance(outcome: Outcome) -> None:
        if any(f"/bin/{Path(p).name}" in outcome.line for p in programs):
            bar.advance()

    with tempfile.TemporaryDirectory(prefix="timershield-") as name:
        watch = spans.Watch(watched, Path(name))
        if watched:
            machine = replace(machine, options=(*machine.options, *watch.options(system.kernel)))
        run = qemu.run_commands(system.kernel, initrd, machine, timeout, advance)
        if run.failure:
            raise LabError(run.explain())
        seen = watch.samples() if watched else None
    ran = [o for o in run.outcomes[offset:] if o.line.split()[1] != "@write"]
    for outcome in run.outcomes:
        if outcome.status and outcome not in ran:
            raise LabError(f"{system.name}: {outcome.line}: {outcome.output}")
    with store.replacing(system.name) as directory:
        for number, (scenario, outcome) in enumerate(zip(scenarios, ran, strict=True)):
            _keep(directory, system, scenario, outcome)
            if seen is not None:
                (directory / scenario.name / "spans.csv").write_text(
                    spans.csv(spans.select(seen, seen["window"] == number), watched))
        results.write_meta(directory, {
            "system": system.described(),
            "target": "guest",
            "kernel": run.transcript.uname,
            "image": _digest(system.kernel.image),
            "program": _digest(guests.output(system.kernel.arch) / program, *modules),
            "time": "instruction-counted: 1 instruction = 1 ns, "
                    + ("1 virtual CPU" if machine.cpus == 1
                       else f"{machine.cpus} virtual CPUs that take turns"),
            "qemu": qemu.version(system.kernel.arch),
            "scenarios": [s.name for s in scenarios],
            "titles": {s.name: s.title for s in scenarios},
            "commands": {s.name: " ".join([s.program or program, *s.words]) for s in scenarios},
        })


def _digest(*files: Path) -> str:
    """What tells a kernel from others: builds are reproducible, so ``uname`` is always the same."""
    return hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()[:16]


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
                with store.replacing(system.name) as directory:
                    for scenario in scenarios:
                        if before is not None:
                            SWITCH.write_text("0" if mode is Mode.OFF else scenario.shield)
                        _keep(directory, system, scenario, _run_on_host(binary, scenario))
                        bar.advance()
                    results.write_host_meta(
                        directory, system, {s.name: s.title for s in scenarios},
                        {s.name: " ".join([binary.name, *s.words]) for s in scenarios})
    finally:
        if before is not None:
            SWITCH.write_text(before)


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
