# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests that go wrong on purpose: the lab must notice, or its other verdicts mean nothing."""

from collections.abc import Callable
from dataclasses import dataclass

from lab.boot import qemu
from lab.kernels import guests
from lab.kernels.initramfs import Initramfs
from lab.kernels.kernels import Kernel
from lab.runner.verdict import Verdict


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong, and how its run must look."""

    name: str
    commands: tuple[guests.Command, ...]
    noticed: Callable[[qemu.Run], bool]


def _status(number: int, status: int) -> Callable[[qemu.Run], bool]:
    return lambda run: run.failure is None and run.outcomes[number].status == status


FAULTS = (
    Fault("a kernel report",
          (guests.Command(("@write", "/dev/kmsg", "<4>KASAN:on-purpose"), 5),),
          lambda run: run.failure is not None and any("on-purpose" in r for r in run.reports)),
    Fault("a program that does not end",
          (guests.Command(("/bin/response_loop", "--jobs=100000"), 1),),
          lambda run: run.failure is None and run.outcomes[0].timed_out),
    Fault("a program that is missing", (guests.Command(("/bin/none",), 5),), _status(0, 127)),
    Fault("a program that fails", (guests.Command(("/bin/response_loop", "--jobs=no"), 5),),
          _status(0, 2)),
)


def _panic(kernel: Kernel) -> Verdict:
    """Without a command list for init, and then without init at all."""
    verdict = Verdict(f"{kernel.name} lab notices a panic")
    archive = Initramfs()
    archive.add("init", (guests.output(kernel.arch) / "response_loop").read_bytes())
    run = qemu.run_commands(kernel, archive.archive(), qemu.Machine(), 5)
    if run.failure and any("panic" in r for r in run.reports) and "panic" in run.explain():
        verdict.passed = 1
    else:
        verdict.fail(f"noticed: {run.failure}, {run.reports}")
    return verdict


def run(kernel: Kernel) -> list[Verdict]:
    """Boot ``kernel`` with every fault."""
    out = guests.build(kernel.arch, ["init", "response_loop"])
    verdicts = [_panic(kernel)]
    for fault in FAULTS:
        verdict = Verdict(f"{kernel.name} lab notices {fault.name}")
        image = guests.image(out, ["response_loop"], fault.commands)
        result = qemu.run_commands(kernel, image, qemu.Machine(), 5)
        if fault.noticed(result):
            verdict.passed = 1
        else:
            verdict.fail(f"failure: {result.failure}; reports: {result.reports}; "
                         f"outcomes: {result.outcomes}")
        verdicts.append(verdict)
    return verdicts
