# SPDX-License-Identifier: GPL-2.0-or-later
"""Whatever happens, the last line of a test run is "N passed, N failed"."""

from pathlib import Path
from typing import NoReturn

import pytest

from lab.boot import qemu
from lab.boot.protocol import Outcome, Transcript
from lab.errors import LabError
from lab.kernels import guests, kernels
from lab.progress import Progress
from lab.runner import host_tests, self_test, testing
from lab.runner.host_tests import HostTest
from lab.runner.verdict import Verdict

KERNEL = "x86_64-preempt-shielded"


def crash(*_: object, **__: object) -> NoReturn:
    raise LabError("QEMU failed with status -11: ")


def full(*_: object, **__: object) -> NoReturn:
    raise OSError(28, "No space left on device")


def last_line(capsys: pytest.CaptureFixture[str], selection: testing.Selection) -> str:
    assert testing.run(Progress(), selection) == 1
    return capsys.readouterr().out.splitlines()[-1]


@pytest.fixture
def _built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("build", "source_tree"):
        monkeypatch.setattr(kernels, name, lambda *_: tmp_path)
    monkeypatch.setattr(guests, "build", lambda *_: tmp_path)


@pytest.mark.usefixtures("_built")
def test_an_emulator_that_crashes_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(testing, "start", crash)
    selection = testing.Selection([KERNEL], ["mask", "held*"], host=False)
    table = selection.table().for_kernel(kernels.Kernel.parse(KERNEL), selection.suites)
    boots = len(testing.boots(kernels.Kernel.parse(KERNEL), table))
    assert boots > 0
    assert last_line(capsys, selection) == f"0 passed, {boots} failed"


@pytest.mark.usefixtures("_built")
def test_a_self_test_that_cannot_be_run_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(self_test, "run", crash)
    monkeypatch.setattr(testing, "_boot_all", lambda *_: None)
    selection = testing.Selection([KERNEL], host=False)
    assert last_line(capsys, selection) == "0 passed, 1 failed"


def test_a_host_test_that_cannot_be_run_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(host_tests, "patched_tree", crash)
    monkeypatch.setattr(host_tests, "stock_tree", full)
    monkeypatch.setattr(host_tests, "TESTS", [
        HostTest("queue", host_tests._queue),
        HostTest("defects", host_tests._defects),
        HostTest("good", lambda: Verdict("good", passed=1)),
    ])
    assert last_line(capsys, testing.Selection(guests=False)) == "1 passed, 2 failed"


def test_a_named_kernel_is_of_the_chosen_version_unless_its_name_says_another() -> None:
    def names(linux: str, *kernels_: str) -> list[str]:
        found = testing.Selection(list(kernels_) or None, linux=linux).chosen_kernels()
        return [k.name for k in found]

    assert names("7.3", KERNEL) == [f"7.3/{KERNEL}"]
    assert names("", KERNEL, f"7.3/{KERNEL}") == [KERNEL, f"7.3/{KERNEL}"]
    assert names("7.3") == [f"7.3/{KERNEL}"]
    with pytest.raises(LabError, match=r"none of 6\.12/.* is Linux 7\.3"):
        names("7.3", f"6.12/{KERNEL}")


def test_a_monitor_that_cannot_be_switched_on_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(testing, "KEPT", tmp_path)
    kernel = kernels.Kernel.parse("7.3/x86_64-preempt-debug")
    [suite] = testing.Selection([kernel.name], ["churn"]).table().for_kernel(kernel, ["churn"])
    boot = testing.Boot(kernel, [suite])
    commands, owners = boot.commands()
    transcript = Transcript()
    transcript.outcomes = [Outcome(" ".join(c.words), status=0) for c in commands]
    run = qemu.Run(kernel, transcript, "")
    assert not testing._verdicts(boot, run, owners)[-1].failed
    transcript.outcomes[0].status = 2
    assert testing._verdicts(boot, run, owners)[-1].failed
