# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kernels need not be built again."""

from pathlib import Path

import pytest

from lab.kernels import cache, kernels
from lab.kernels.kernels import Kernel
from lab.progress import Progress
from lab.unit_tests.linux_tree import make_tree

KERNEL = Kernel.parse("x86_64-preempt-shielded")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A patched tree, whose builds count up in the image."""
    tree = make_tree(tmp_path / KERNEL.linux / "src-timershield")
    (tree / ".origin").write_text("/usr/src/linux.tar.xz 1 2\n")
    (tree / kernels.MANIFEST).write_text("kernel/time/hrtimer.c\n")

    def build(kernel: Kernel, _: Progress) -> Path:
        kernels.link(kernel, tree)
        kernel.image.parent.mkdir(parents=True, exist_ok=True)
        old = kernel.image.read_text() if kernel.image.exists() else ""
        kernel.image.write_text(old + "built ")
        return kernel.image

    monkeypatch.setattr(kernels, "KERNEL_BUILDS", tmp_path)
    monkeypatch.setattr(kernels, "source_tree", lambda *_: tree)
    monkeypatch.setattr(kernels, "build", build)
    monkeypatch.setattr(cache, "PLACE", tmp_path / "cache")
    return tree


def test_the_same_is_built_once(tree: Path) -> None:
    image = cache.image(KERNEL, Progress())
    assert cache.image(KERNEL, Progress()).read_text() == "built "
    image.unlink()
    assert cache.image(KERNEL, Progress()).read_text() == "built "


@pytest.mark.parametrize("file", ["kernel/time/hrtimer.c", ".origin"])
def test_another_source_is_another_kernel(tree: Path, file: str) -> None:
    cache.image(KERNEL, Progress())
    (tree / file).write_text("/elsewhere 3 4\n")
    assert cache.image(KERNEL, Progress()).read_text() == "built built "


def test_another_configuration_is_another_kernel(tree: Path) -> None:
    other = Kernel.parse("x86_64-preempt-debug")
    assert cache.made_of(KERNEL, tree) != cache.made_of(other, tree)
