# SPDX-License-Identifier: GPL-2.0-or-later
"""Booting a kernel in QEMU, under instruction-counted time unless told otherwise.

With ``-icount shift=0,sleep=off`` every instruction takes one nanosecond of guest time and
idle time is skipped, so that what a guest measures does not depend on how busy the host is.
"""

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import BinaryIO

from lab.boot import console as console_text
from lab.boot import stale_code
from lab.boot.protocol import Decoder, Outcome, ProtocolError, Transcript
from lab.errors import LabError
from lab.kernels.arch import ARCHES
from lab.kernels.kernels import Kernel
from lab.kernels.toolchain import require
from lab.processes import running

POLL = 0.1
HOST_SECONDS_PER_GUEST_SECOND = 40
"""How much slower than its own clock a busy guest may be before it counts as hung."""
SILENT_SECONDS = 120

_stop = threading.Event()


def stop_all() -> None:
    """End all guests that other threads are following; none can be started any more."""
    _stop.set()


def version(arch: str) -> str:
    """QEMU's own name for its version."""
    done = subprocess.run([ARCHES[arch].qemu, "--version"], capture_output=True, text=True,
                          check=True)
    return done.stdout.splitlines()[0]


@dataclass(frozen=True)
class Machine:
    """What to boot a kernel on."""

    cpus: int = 1
    threads: int = 1
    """Virtual CPUs that share a core."""
    icount: bool = True
    memory: int = 512
    """MiB"""
    append: str = ""
    options: tuple[str, ...] = ()
    """Added to QEMU's command line."""
    turn: int = 0
    """µs; with several virtual CPUs and instruction-counted time, none executes for longer while
    another one could. QEMU lets one go on until the machine's next timer; this adds one, that
    of a network filter without a network, of which the guest knows nothing. 0: none."""

    @property
    def parallel(self) -> bool:
        """Whether its CPUs run at once, instead of taking turns."""
        return self.cpus > 1 and not self.icount

    def command(self, kernel: Kernel, initrd: Path) -> list[str]:
        """QEMU's command line, without the serial ports."""
        accelerator = "tcg,thread=multi" if self.parallel else "tcg"
        hardware = [
            *ARCHES[kernel.arch].board,
            "-smp", f"{self.cpus},sockets={self.cpus // self.threads},threads={self.threads}",
            "-m", str(self.memory),
        ]
        command = [
            ARCHES[kernel.arch].qemu, *hardware,
            "-accel", accelerator,
            "-nodefaults", "-no-user-config", "-display", "none", "-monitor", "none",
            "-no-reboot", "-seed", "1",
            "-rtc", "base=2026-01-01" + (",clock=vm" if self.icount else ""),
            "-kernel", str(kernel.image),
            "-initrd", str(initrd),
        ]
        if self.icount:
            command += ["-icount", "shift=0,sleep=off"]
            if self.turn:
                command += [
                    "-netdev", "hubport,id=turns,hubid=0",
                    "-object", f"filter-buffer,id=turn,netdev=turns,interval={self.turn}",
                ]
        return [*command, *self.options]

    def kernel_parameters(self, kernel: Kernel, quiet: bool) -> str:
        """The kernel command line."""
        words = ["panic=-1", "nokaslr", "norandmaps", "rdinit=/init",
                 *ARCHES[kernel.arch].parameters]
        # Debian's kernels test their ciphers for a while after the boot, on any CPU.
        if kernel.debian:
            words += ["cryptomgr.notests"]
        if kernel.feature == "kcsan":
            words += ["kcsan.early_enable=1"]
        elif kernel.debug:  # KCSAN warns of races that are Linux's own
            words += ["panic_on_warn=1"]
        if kernel.patched:
            words += ["timershield=1"]
        if quiet:
            words += ["loglevel=5"]
        return " ".join([*words, self.append]).strip()


def require_qemu(arch: str) -> None:
    """Fail, naming the Debian package, if QEMU is missing."""
    require(ARCHES[arch].qemu)


def boot_interactive(kernel: Kernel, initrd: Path, machine: Machine) -> int:
    """Boot any initramfs with its console on standard output; return QEMU's exit status."""
    require_qemu(kernel.arch)
    command = [
        *machine.command(kernel, initrd),
        "-append", machine.kernel_parameters(kernel, quiet=False),
        "-serial", "stdio",
    ]
    with running(command) as process:
        return process.wait()


def _result_port(kernel: Kernel, machine: Machine, path: Path) -> list[str]:
    words = ["-chardev", f"file,id=results,path={path}"]
    if kernel.arch == "x86_64":
        return [*words, "-serial", "chardev:results"]
    # Debian's has the driver of the other bus as a module
    bus = "pci" if kernel.debian else "device"
    return [
        *words,
        "-device", f"virtio-serial-{bus}",
        "-device", "virtserialport,chardev=results,name=lab",
    ]


class End(Enum):
    """How a guest ended."""

    DONE = "after its commands"
    HANGS = "it had to be stopped"
    DIES = "before its commands did"


@dataclass
class Run:
    """What came out of one boot."""

    kernel: Kernel
    transcript: Transcript
    console: str
    failure: str | None = None
    end: End = End.DONE
    host_seconds: float = 0.0
    boots: int = 1
    """More than one: the emulator was at fault before, see :mod:`lab.boot.stale_code`."""
    stopped: bool = False
    """It would have gone on: the user has had enough."""
    reports: list[str] = field(default_factory=list)

    @property
    def outcomes(self) -> list[Outcome]:
        return self.transcript.outcomes

    def explain(self) -> str:
        """Why it failed, with the console's last lines."""
        text = f"{self.kernel.name}: {self.failure}"
        if self.outcomes and self.outcomes[-1].status is None:
            text += f"\n  while running: {self.outcomes[-1].line}"
        if self.reports:
            text += "\n  the kernel reported:\n" + "\n".join(
                f"    {line}" for line in self.reports[:10]
            )
        return f"{text}\n  the console's last lines:\n{console_text.tail(self.console)}"


class _Watch:
    """Follows a guest while it runs, by two files that QEMU appends to."""

    def __init__(self, run: Run, console: BinaryIO, results: BinaryIO,
                 on_outcome: Callable[[Outcome], None] | None,
                 on_output: Callable[[bytes], None] | None) -> None:
        self._run = run
        self._console = console
        self._results = results
        self._decoder = Decoder()
        self._on_outcome = on_outcome
        self._reported = 0
        self._on_output = on_output
        self._sends = False

    def look(self) -> bool:
        """Take in what is new; return whether the guest goes on.

        Once init sends results the console does not count: a stalled kernel reports that for ever.
        """
        text = self._console.read()
        self._run.console += text.decode(errors="replace").replace("\r", "")
        data = self._results.read()
        for name, content in self._decoder.feed(data):
            self._run.transcript.add(name, content)
            if name.endswith("/output") and self._on_output is not None:
                self._on_output(content)
        done = [o for o in self._run.outcomes if o.status is not None or o.timed_out]
        if self._on_outcome is not None:
            for outcome in done[self._reported :]:
                self._on_outcome(outcome)
        self._reported = len(done)
        self._sends = self._sends or bool(data)
        return bool(data or (text and not self._sends))


def run_commands(
    kernel: Kernel,
    initrd: bytes,
    machine: Machine,
    timeout: float,
    on_outcome: Callable[[Outcome], None] | None = None,
    patience: float | None = None,
    on_output: Callable[[bytes], None] | None = None,
) -> Run:
    """Boot ``initrd``, whose init is the lab's, and collect what it sends.

    ``timeout`` is the most guest time, in seconds, that one of its commands may take; a guest
    that says nothing for much longer, or for ``patience`` seconds of the host, hangs. One that
    hangs, panics, leaves early or whose kernel reports something gives a run with a ``failure``.
    ``on_output`` gets what commands print when it arrives.
    """
    require_qemu(kernel.arch)
    if patience is None:
        patience = SILENT_SECONDS + timeout * HOST_SECONDS_PER_GUEST_SECOND
    start = time.monotonic()
    for boots in range(1, stale_code.BOOTS + 1):
        run = _run_once(kernel, initrd, machine, patience, on_outcome, on_output)
        run.boots = boots
        if not (machine.parallel and stale_code.seen(run.reports)
                and stale_code.possible(version(kernel.arch))):
            break
    run.host_seconds = time.monotonic() - start
    return run


def _run_once(
    kernel: Kernel,
    initrd: bytes,
    machine: Machine,
    patience: float,
    on_outcome: Callable[[Outcome], None] | None,
    on_output: Callable[[bytes], None] | None,
) -> Run:
    """One boot."""
    run = Run(kernel, Transcript(), "")
    with tempfile.TemporaryDirectory(prefix="timershield-") as name:
        directory = Path(name)
        archive = directory / "initrd"
        archive.write_bytes(initrd)
        files = [directory / "console", directory / "results"]
        for file in files:
            file.touch()
        parameters = machine.kernel_parameters(kernel, quiet=True)
        if kernel.arch == "x86_64":
            parameters += " lab_port=/dev/ttyS1"
        command = [
            *machine.command(kernel, archive),
            "-append", parameters,
            "-chardev", f"file,id=console,path={files[0]}",
            "-serial", "chardev:console",
            *_result_port(kernel, machine, files[1]),
        ]
        try:
            with (files[0].open("rb") as console, files[1].open("rb") as results,
                  running(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as process):
                watch = _Watch(run, console, results, on_outcome, on_output)
                _follow(process, machine, watch, run, patience)
        except ProtocolError as error:
            run.failure = f"result port: {error}"
    _judge(run)
    return run


def _follow(process: subprocess.Popen[bytes], machine: Machine, watch: _Watch, run: Run,
            patience: float) -> None:
    heard = time.monotonic()
    while process.poll() is None:
        if watch.look():
            heard = time.monotonic()
        if _stop.is_set():
            run.failure, run.stopped = "stopped", True
            return
        if time.monotonic() > heard + patience:
            run.failure = f"guest timed out: no output for {patience:.0f} s"
            run.end = End.HANGS
            return
        time.sleep(POLL)
    watch.look()
    assert process.stderr is not None
    errors = process.stderr.read().decode(errors="replace").strip()
    if process.returncode:
        raise LabError(f"QEMU failed with status {process.returncode}: {errors}")


def _judge(run: Run) -> None:
    run.reports = console_text.reports(run.console)
    run.reports += [r for r in console_text.reports(run.transcript.log) if r not in run.reports]
    if run.failure is None and not run.transcript.ended:
        run.failure = "the guest ended before its commands did"
        run.end = End.DIES
    if run.failure is None and run.reports:
        run.failure = "kernel warning or error in the guest's log"


def default_jobs() -> int:
    """How many guests to run side by side."""
    return max(1, len(os.sched_getaffinity(0)))
