# SPDX-License-Identifier: GPL-2.0-or-later
"""Configurations, consoles, images, statistics, names."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from experiments.common.experiment import Context
from experiments.report import stats
from lab.boot import console
from lab.errors import LabError
from lab.kernels import debian, distribution, kconfig
from lab.kernels.initramfs import Initramfs
from lab.kernels.kernels import Kernel, all_kernels
from lab.kernels.toolchain import meson_ready
from lab.measure import systems
from lab.measure.systems import MODES, Mode, host_modes, platforms
from lab.progress import Progress


def test_fragments_override_in_order(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=\"x\"\n")
    (tmp_path / "b").write_text("CONFIG_B=y\nCONFIG_A=n\n")
    merged = kconfig.merge([tmp_path / "a", tmp_path / "b"])
    assert merged == {"CONFIG_A": "n", "CONFIG_B": "y", "CONFIG_C": '"x"'}
    assert kconfig.parse(kconfig.text(merged)) == merged


def test_lost_symbol_is_an_error_and_an_unknown_one_is_told(tmp_path: Path) -> None:
    (tmp_path / "Kconfig").write_text("config KNOWN\n\tbool\n")
    config = tmp_path / ".config"
    config.write_text("CONFIG_OTHER=y\n")
    assert kconfig.check(tmp_path, {"CONFIG_NEW": "y"}, config) == ["CONFIG_NEW"]
    with pytest.raises(LabError, match="CONFIG_KNOWN: wanted y, got n"):
        kconfig.check(tmp_path, {"CONFIG_KNOWN": "y"}, config)


@pytest.mark.parametrize("line", [
    "[    1.0] WARNING: CPU: 0 PID: 1 at kernel/time/hrtimer.c:1 x+0x1/0x2",
    "[    1.0] BUG: sleeping function called from invalid context at x.c:1",
    "[    1.0] BUG: KASAN: slab-use-after-free in x+0x1/0x2",
    "[    1.0] Kernel panic - not syncing: Attempted to kill init!",
    "[    1.0] rcu: INFO: rcu_preempt self-detected stall on CPU",
    "[    1.0] WARNING: possible circular locking dependency detected",
    "[    1.0] ODEBUG: activate active (active state 0) object: 1 object type: hrtimer",
    "[    1.0] INFO: task init:1 blocked for more than 120 seconds.",
    "[    1.0] ------------[ cut here ]------------".replace("------------[", "---["),
    "[    1.0] UBSAN: shift-out-of-bounds in x.c:1:2",
    "[    1.0] sched: RT throttling activated",
    "[    1.0] BUG: unable to handle page fault for address: 0",
    "[    1.0] BUG: KCSAN: data-race in rb_erase / timershield_queue_del+0x1/0x2",
    "[    1.0] BUG: KCSAN: data-race in clear [timershield] / tick_sched_timer",
])
def test_reports_are_found(line: str) -> None:
    assert console.reports(f"fine\n{line}\nfine\n") == [line]


def test_real_cut_here_line_is_found() -> None:
    assert console.reports("[    1.0] ------------[ cut here ]------------\n")


@pytest.mark.parametrize("line", [
    "[    1.0] hrtimer: interrupt took 3990 ns",
    "[    1.0] reboot: Restarting system",
    "[    0.0] rcu: Preemptible hierarchical RCU implementation.",
    "[    0.4] APIC timer disabled due to verification failure",
    "[    1.0] BUG: KCSAN: data-race in tick_nohz_idle_stop_tick / tick_sched_timer",
])
def test_harmless_lines_are_not(line: str) -> None:
    assert console.reports(line) == []


@pytest.mark.skipif(shutil.which("cpio") is None, reason="no cpio")
def test_cpio_reads_the_archive(tmp_path: Path) -> None:
    archive = Initramfs()
    archive.add("init", b"#!/bin/sh\n")
    archive.add("deep/er/file", b"12345")
    subprocess.run(["cpio", "-id", "--quiet"], cwd=tmp_path, input=archive.archive(), check=True)
    assert (tmp_path / "deep/er/file").read_bytes() == b"12345"
    assert (tmp_path / "init").stat().st_mode & 0o111
    assert archive.archive() == archive.archive()


def test_percentiles_are_samples() -> None:
    samples = np.array([5, 1, 3, 2, 4])
    assert [stats.percentile(samples, p) for p in (0, 20, 21, 50, 99.9, 100)] == [1, 1, 2, 3, 5, 5]
    summary = stats.summarize(np.arange(1, 1001))
    assert (summary.p50, summary.p95, summary.p99, summary.p999, summary.maximum) == (
        500, 950, 990, 999, 1000)


def test_kernel_names_round_trip() -> None:
    for kernel in all_kernels():
        assert Kernel.parse(kernel.name) == kernel
    for bad in ("x86_64", "x86-rt-stock", "x86_64-rt-fast", ""):
        with pytest.raises(LabError, match="is not one of"):
            Kernel.parse(bad)


def test_debian_kernels() -> None:
    for name in ("debian12/6.1", "debian13/7.3-rt", "debian12/6.12-rt-module",
                 "debian13/7.3-arm64", "debian12/6.12-rt-arm64-module"):
        assert Kernel.parse(name).name == name
    kernel = Kernel.parse("debian13/7.3-rt-module")
    assert (kernel.words, kernel.linux) == ("x86_64-rt-module", "7.3")
    assert kernel.build == Kernel.parse("debian13/7.3-rt").build
    for bad in ("debian11/5.10", "debian13/rt", "debian13/7.3-fast", "debian/7.3"):
        with pytest.raises(LabError, match="are called RELEASE/VERSION"):
            Kernel.parse(bad)


def test_another_version_that_begins_alike_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["linux-image-6.1.0-9-amd64", "linux-image-6.1.0-56-amd64",
             "linux-image-6.1.0-56-rt-amd64", "linux-image-6.12.117+deb12-amd64"]

    def fetch(_: debian.Release, package: str, target: Path, __: Progress) -> None:
        (target / "boot").mkdir(parents=True)
        (target / "boot" / "vmlinuz").write_text(package)

    monkeypatch.setattr(debian.Release, "update", lambda *_: None)
    monkeypatch.setattr(debian.Release, "depends", lambda *_: [])
    monkeypatch.setattr(debian.Release, "_call", lambda *_: "\n".join(names))
    monkeypatch.setattr(debian.Release, "fetch", fetch)
    image = distribution.fetch(tmp_path, "12", "x86_64", "6.1", False, Progress())
    assert image.read_text() == "linux-image-6.1.0-56-amd64"


def test_the_modules_kernel_is_unpatched_and_checked() -> None:
    kernel = Kernel.parse("x86_64-rt-module")
    assert (kernel.patched, kernel.debug) == (False, True)
    assert [f.name for f in kernel.fragments][-2:] == ["debug", "module"]
    assert not Kernel.parse("debian12/6.12-module").debug


def test_modes_that_a_kernel_has() -> None:
    ours, debian = platforms(["7.3/x86_64-rt", "debian13/7.3-rt"])
    assert ours.modes(MODES) == ["stock", "off", "shielded"]
    assert debian.modes(MODES) == ["stock", "off", "module"]
    assert [debian.kernel(m).name for m in debian.modes(MODES)] == [
        "debian13/7.3-rt", "debian13/7.3-rt-module", "debian13/7.3-rt-module"]


def test_platforms() -> None:
    def names(*patterns: str, linux: str = "6.12") -> list[str]:
        return [p.name for p in platforms(patterns, linux)]

    assert names() == ["x86_64-rt", "x86_64-preempt"]
    assert names("rt") == ["x86_64-rt", "arm64-rt"]
    assert names("arm64-rt", "arm64") == ["arm64-rt", "arm64-preempt"]
    assert len(names("all")) == 4
    assert names("7.3/lazy") == ["7.3/x86_64-lazy", "7.3/arm64-lazy"]
    assert names("rt", "6.12/arm64-rt", linux="7.3") == [
        "7.3/x86_64-rt", "7.3/arm64-rt", "arm64-rt"]
    with pytest.raises(LabError, match="no Linux '5.10': there are 6.12, 7.3"):
        platforms(["5.10/rt"])
    with pytest.raises(LabError, match="no kernel matches 'lazy'"):
        platforms(["lazy"])
    with pytest.raises(LabError, match="no kernel matches 'mips'"):
        platforms(["mips"])


def test_modes_that_the_machine_does_not_have_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch = tmp_path / "timershield"
    monkeypatch.setattr(systems, "SWITCH", switch)
    assert host_modes(MODES) == ["stock"]
    with pytest.raises(LabError, match="as off, shielded: it has no kernel.timershield"):
        host_modes([Mode.OFF, Mode.SHIELDED])
    switch.write_text("1")
    assert host_modes(MODES) == ["off", "shielded"]
    assert host_modes([Mode.SHIELDED]) == ["shielded"]
    with pytest.raises(LabError, match="as stock: it has kernel.timershield, so there is off, sh"):
        host_modes([Mode.STOCK, Mode.OFF])


def test_without_off_there_is_nothing_to_compare_with_on_the_machine() -> None:
    def modes(host: bool, *given: Mode) -> list[Mode]:
        return Context(Progress(), Path(), modes=list(given), host=host).without_off().modes

    assert modes(False, *MODES) == ["stock", "shielded", "module"]
    assert modes(False, Mode.OFF) == ["off"]
    assert modes(True, *MODES) == list(MODES)


def test_a_moved_meson_directory_is_set_up_anew(tmp_path: Path) -> None:
    def set_up(build: Path, source: Path) -> None:
        (build / "meson-info").mkdir(parents=True)
        (build / "build.ninja").touch()
        (build / "meson-info" / "meson-info.json").write_text(json.dumps(
            {"directories": {"build": str(build), "source": str(source)}}))

    source, build, copy = (tmp_path / n for n in ("source", "build", "copy"))
    assert not meson_ready(build, source)
    set_up(build, source)
    assert meson_ready(build, source)
    shutil.copytree(build, copy)
    assert not meson_ready(copy, source)
    assert not copy.exists()
    (build / "build.ninja").unlink()
    assert not meson_ready(build, source)
