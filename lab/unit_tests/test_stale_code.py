# SPDX-License-Identifier: GPL-2.0-or-later
"""Only what QEMU did is laid at QEMU's door."""


import pytest

from lab.boot import qemu, stale_code
from lab.boot.protocol import Transcript
from lab.kernels.kernels import Kernel

KERNEL = Kernel.parse("x86_64-preempt-stock")
OOPS = "[   13.189791] Oops: int3: 0000 [#1] PREEMPT SMP"
OTHER = "[   13.189791] Oops: general protection fault: 0000 [#1] PREEMPT SMP"
WITH_IT, WITHOUT = "QEMU emulator version 7.2.22 (Debian 1:7.2)", "QEMU emulator version 8.1.0"
PARALLEL = qemu.Machine(cpus=3, icount=False)


@pytest.mark.parametrize(("text", "possible"), [
    (WITH_IT, True), ("QEMU emulator version 8.0.5", True), (WITHOUT, False),
    ("QEMU emulator version 10.0.2", False), ("something else", False),
])
def test_which_emulators_have_it(text: str, possible: bool) -> None:
    assert stale_code.possible(text) is possible


@pytest.mark.parametrize(("reports", "seen"), [
    ([OOPS], True), ([], False), ([OTHER], False),
    (["WARNING: CPU: 0 PID: 1 at kernel/sched/core.c:1", OOPS], False),
])
def test_what_it_looks_like(reports: list[str], seen: bool) -> None:
    assert stale_code.seen(reports) is seen


@pytest.mark.parametrize(("machine", "version", "first", "boots"), [
    (PARALLEL, WITH_IT, OOPS, 2),
    (PARALLEL, WITH_IT, OTHER, 1),
    (PARALLEL, WITHOUT, OOPS, 1),
    (qemu.Machine(cpus=3), WITH_IT, OOPS, 1),
    (qemu.Machine(icount=False), WITH_IT, OOPS, 1),
])
def test_who_is_booted_again(monkeypatch: pytest.MonkeyPatch, machine: qemu.Machine,
                             version: str, first: str, boots: int) -> None:
    console = [[first], []]
    monkeypatch.setattr(qemu, "_run_once", lambda *_: qemu.Run(KERNEL, Transcript(), "",
                                                               reports=console.pop(0)))
    monkeypatch.setattr(qemu, "version", lambda _: version)
    run = qemu.run_commands(KERNEL, b"", machine, 1)
    assert run.boots == boots
    assert len(console) == 2 - boots


def test_it_cannot_happen_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu, "_run_once", lambda *_: qemu.Run(KERNEL, Transcript(), "",
                                                               "it died", reports=[OOPS]))
    monkeypatch.setattr(qemu, "version", lambda _: WITH_IT)
    run = qemu.run_commands(KERNEL, b"", PARALLEL, 1)
    assert (run.boots, run.failure) == (stale_code.BOOTS, "it died")
