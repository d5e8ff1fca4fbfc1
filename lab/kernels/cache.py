# SPDX-License-Identifier: GPL-2.0-or-later
"""Images of kernels that were built before, kept by the hash of what they were made of."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from lab.kernels import kernels
from lab.kernels.arch import ARCHES
from lab.kernels.kernels import Kernel
from lab.progress import Progress

PLACE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "timershield"


def image(kernel: Kernel, progress: Progress) -> Path:
    """All that most guests need of ``kernel``: from :data:`PLACE`, or built and kept there."""
    if kernel.debian:
        return kernels.build(kernel, progress)
    tree = kernels.source_tree(kernel, progress)
    kept = PLACE / made_of(kernel, tree)
    if not kept.exists():
        _copy(kernels.build(kernel, progress), kept)
        return kernel.image
    with kernels.locked(kernel.name):
        kernels.link(kernel, tree)
        if not kernel.image.exists() or kernel.image.read_bytes() != kept.read_bytes():
            progress.step(f"{kernel.name}: {kept} is made of the same")
            _copy(kept, kernel.image)
    return kernel.image


def _copy(source: Path, target: Path) -> None:
    """The copy appears as a whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f"{target.name}.{os.getpid()}")
    shutil.copyfile(source, temporary)
    temporary.rename(target)


def made_of(kernel: Kernel, tree: Path) -> str:
    """A hash of name, compiler, source, patches and configuration."""
    compiler = subprocess.run([f"{ARCHES[kernel.arch].cross}gcc", "--version"],
                              capture_output=True, check=True).stdout
    # size and time of the origin, not where it is
    origin = " ".join((tree / ".origin").read_text().split()[-2:])
    manifest = tree / kernels.MANIFEST
    changed = [tree / name for name in manifest.read_text().split()] if manifest.exists() else []
    parts = [kernel.name.encode(), compiler, origin.encode()]
    for file in (*changed, *kernel.fragments):
        parts += [file.name.encode(), file.read_bytes() if file.exists() else b""]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()
