# SPDX-License-Identifier: GPL-2.0-or-later
"""When a guest counts as alive."""

from pathlib import Path

from lab.boot import qemu
from lab.boot.protocol import Transcript, Type, encode
from lab.kernels.kernels import Kernel


def test_a_stalled_kernel_that_reports_for_ever_hangs(tmp_path: Path) -> None:
    console, results = tmp_path / "console", tmp_path / "results"
    for file in (console, results):
        file.touch()
    run = qemu.Run(Kernel.parse("x86_64-preempt-stock"), Transcript(), "")
    with console.open("rb") as heard, results.open("rb") as sent:
        watch = qemu._Watch(run, heard, sent, None, None)
        assert not watch.look()
        console.write_bytes(b"booting\n")
        assert watch.look()
        results.write_bytes(encode(Type.HELLO, 0, 0, b"1 Linux"))
        assert watch.look()
        console.write_bytes(b"booting\nrcu: INFO: rcu_preempt self-detected stall on CPU\n")
        assert not watch.look()
    assert "stall" in run.console
