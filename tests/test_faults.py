# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests that go wrong on purpose: the lab must notice, or its other verdicts mean nothing."""

import pytest

from lab.boot import qemu
from lab.kernels import cache, guests
from lab.kernels.guests import Command
from lab.kernels.initramfs import Initramfs
from lab.kernels.kernels import Kernel
from lab.progress import Progress

PROGRAM = "control_loop"


@pytest.fixture(scope="module")
def kernel(chosen: list[Kernel]) -> Kernel:
    """The first of those that guests run on."""
    cache.image(chosen[0], Progress())
    guests.build(chosen[0].arch, ["init", PROGRAM])
    return chosen[0]


def boot(kernel: Kernel, *words: str, timeout: int = 5) -> qemu.Run:
    image = guests.image(guests.output(kernel.arch), [PROGRAM], [Command(words, timeout)])
    return qemu.run_commands(kernel, image, qemu.Machine(), 5)


def test_a_kernel_report(kernel: Kernel) -> None:
    run = boot(kernel, "@write", "/dev/kmsg", "<4>KASAN:on-purpose")
    assert run.failure is not None
    assert any("on-purpose" in r for r in run.reports)


def test_a_program_that_does_not_end(kernel: Kernel) -> None:
    run = boot(kernel, f"/bin/{PROGRAM}", "--jobs=100000", timeout=1)
    assert run.failure is None
    assert run.outcomes[0].timed_out


@pytest.mark.parametrize(("words", "status"), [
    (("/bin/none",), 127), ((f"/bin/{PROGRAM}", "--jobs=no"), 2),
])
def test_a_program_that_fails(kernel: Kernel, words: tuple[str, ...], status: int) -> None:
    run = boot(kernel, *words)
    assert run.failure is None
    assert run.outcomes[0].status == status


def test_a_panic(kernel: Kernel) -> None:
    """Another program in the place of init ends, which init must not."""
    archive = Initramfs()
    archive.add("init", (guests.output(kernel.arch) / PROGRAM).read_bytes())
    run = qemu.run_commands(kernel, archive.archive(), qemu.Machine(), 5)
    assert run.failure
    assert any("panic" in r for r in run.reports)
    assert "panic" in run.explain()
