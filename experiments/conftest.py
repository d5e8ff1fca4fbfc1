# SPDX-License-Identifier: GPL-2.0-or-later
"""The kept sample: what real runs of few jobs left, of each long file the first rows."""

import shutil
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from lab.paths import REPO


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpacked, to be read."""
    root = tmp_path_factory.mktemp("kept")
    shutil.unpack_archive(REPO / "experiments" / "sample.tar.xz", root)
    return root


@pytest.fixture
def sample(kept: Path, tmp_path: Path) -> Path:
    """A copy, to be changed."""
    return Path(shutil.copytree(kept, tmp_path / "sample"))


@pytest.fixture
def unpainted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Painting takes most of the time; whether there is anything to paint is found before."""
    monkeypatch.setattr(Figure, "savefig", lambda _, file, **more: file.write(b"<svg></svg>"))
