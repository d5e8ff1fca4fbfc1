# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian packages: which configuration they start from, and which are offered in the end."""

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.kernels import deb

CONFIG = b"CONFIG_SMP=y\n"


@pytest.mark.parametrize(("name", "pack"), [
    ("config", bytes), ("config.gz", gzip.compress), ("config.xz", lzma.compress),
])
def test_configurations_are_read(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    (tmp_path / name).write_bytes(pack(CONFIG))
    assert deb.read(tmp_path / name) == CONFIG.decode()


@pytest.mark.parametrize(("name", "data"), [
    ("cut.gz", gzip.compress(CONFIG)[:-9]),
    ("bent.gz", gzip.compress(CONFIG)[:10] + b"\xff" * 20),
    ("other.gz", CONFIG),
    ("cut.xz", lzma.compress(CONFIG)[:-9]),
    ("other.xz", CONFIG),
    ("image", b"\x7fELF\xff\xfe"),
    ("notes", b"no symbol\n"),
])
def test_what_is_no_configuration_is_named(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(LabError, match=rf"/{name} is .*(no|not a kernel) configuration: \S"):
        deb.read(tmp_path / name)


def test_only_the_last_build_is_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deb, "BUILD", tmp_path)
    built, offered = tmp_path / "built", tmp_path / "deb"
    for directory, version in ((built, "6.12.117"), (offered, "6.12.57")):
        directory.mkdir()
        (directory / f"linux-image-{version}.deb").touch()
    assert deb._collect(built) == [offered / "linux-image-6.12.117.deb"]
    assert [p.name for p in offered.iterdir()] == ["linux-image-6.12.117.deb"]
    (built / "linux-image-6.12.117.deb").unlink()
    with pytest.raises(LabError, match="no packages"):
        deb._collect(built)
