# SPDX-License-Identifier: GPL-2.0-or-later
from pathlib import Path

import pytest

from lab.boot import qemu
from lab.errors import LabError
from lab.kernels.kernels import Kernel
from lab.runner import boots, suites


def load(tmp_path: Path, text: str) -> suites.Suites:
    path = tmp_path / "suites.toml"
    path.write_text(text)
    return suites.load(path)


def test_defaults(tmp_path: Path) -> None:
    (suite,) = load(tmp_path, '[suite.mask]\n').suites
    assert suite.program == "mask"
    assert suite.targets("6.12") == ("tests/mask",)
    assert suite.meant_for(Kernel.parse("arm64-rt-shielded"))
    assert not suite.meant_for(Kernel.parse("arm64-rt-stock"))


@pytest.mark.parametrize(("kernel", "icount", "version", "hangs"), [
    ("debian12/6.1", True, "7.2.22", True), ("debian12/6.1", True, "10.0.2", False),
    ("debian12/6.1", False, "7.2.22", False), ("debian12/6.12", True, "7.2.22", False),
])
def test_two_cpus_that_take_turns(monkeypatch: pytest.MonkeyPatch, kernel: str, icount: bool,
                                  version: str, hangs: bool) -> None:
    monkeypatch.setattr(qemu, "version", lambda _: f"QEMU emulator version {version}")
    suite = suites.Suite("a", kernels=("debian*",), on_stock="pass", cpus=2, icount=icount)
    assert suite.hangs_on(Kernel.parse(kernel)) is hangs


@pytest.mark.parametrize(("text", "complaint"), [
    ("[suite.a]\ncpu = 2\n", "no key 'cpu'"),
    ('[suite.a]\ncpus = "2"\n', "cpus must be int"),
    ("[suite.a]\ncpus = true\n", "cpus must be int"),
    ("[suite.a]\nlevels = []\n[suite.a-levels]\n", "two suites"),
    ('[suite.a]\non-stock = "maybe"\n', "on-stock"),
    ("[suite.a\n", "suites.toml"),
])
def test_bad_tables_are_explained(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(LabError, match=complaint):
        load(tmp_path, text)


def test_selftests(tmp_path: Path) -> None:
    (suite,) = load(tmp_path, '[selftests]\nadjtick = [240, "-x"]\n').suites
    assert suite.name == "selftest-adjtick"
    assert suite.targets("7.3") == ("selftests/7.3/timers/adjtick",)
    assert (suite.timeout, suite.args) == (240, ("-x",))


def test_levels_are_a_suite_of_their_own(tmp_path: Path) -> None:
    one, two = load(tmp_path, """
[suite.mask]
kernels = ["*-shielded", "*-module"]
append = "quiet"
levels = ["*-module"]
""").suites
    assert (one.name, one.append) == ("mask", "quiet")
    assert (two.name, two.program, two.append, two.mode) == ("mask-levels", "mask", "quiet", 2)
    assert two.kernels == ("*-module",)


def test_suites_share_boots(tmp_path: Path) -> None:
    table = load(tmp_path, """
[suite.a]
[suite.b]
cpus = 2
[suite.c]
[suite.d]
alone = true
""")
    kernel = Kernel.parse("x86_64-rt-shielded")
    found = boots.grouped(kernel, table.for_kernel(kernel, []))
    assert [[s.name for s in b.suites] for b in found] == [["a", "c"], ["b"], ["d"]]
    commands, owners = found[0].commands()
    assert [c.words[0] for c in commands] == ["/bin/a", "/bin/c"]
    assert {i: s.name for i, s in owners.items()} == {0: "a", 1: "c"}


def test_the_table_is_valid() -> None:
    for suite in suites.load().suites:
        if suite.program:
            assert list(suites.TABLE.parent.glob(f"{suite.program}.*")), suite.name


def test_every_guest_test_is_in_the_table() -> None:
    known = {s.program for s in suites.load().suites}
    known |= {t.rpartition("/")[2] for s in suites.load().suites for t in s.tools}
    assert {p.stem for p in suites.TABLE.parent.glob("*.c")} <= known
