# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel part of the project: new files of ``kernel/src``, patches for files that Linux has.

New files are copied to the same paths of a Linux tree. The patches of ``kernel/patches/VERSION``
apply after that, in the order of their names: a line ``Subject: …``, a message, ``---``, a diff.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kernel.tools.errors import ToolError

KERNEL = Path(__file__).resolve().parent.parent
PATCHES = KERNEL / "patches"
"""A folder for each version of Linux."""
NEW_FILES = KERNEL / "src"
DEFAULT = "6.12"
"""The version of Linux that is meant where none is named."""
MANIFEST = ".timershield"
"""In a tree kept up to date by :func:`sync`: the files that differ from the pristine tree."""
NEW = """Subject: timershield: add the new files

Nothing compiles them yet. The patches that follow put them to use.
---
"""


@dataclass(frozen=True)
class Patchset:
    """Which new files and which patches there are."""

    new_files: Path = NEW_FILES
    patches: Path = PATCHES / DEFAULT
    limit: int | None = None
    """Only the first so many patches."""
    on_top: tuple[Path, ...] = ()
    """Plain diffs to apply after the patches."""

    def patch_list(self) -> list[Path]:
        """The patches in the order in which they apply."""
        return sorted(self.patches.glob("*.patch"))[: self.limit]

    def new_file_list(self) -> list[str]:
        """The new files, relative to a Linux tree."""
        return sorted(str(p.relative_to(self.new_files)) for p in self.new_files.rglob("*")
                      if p.is_file())

    def texts(self) -> dict[str, str]:
        """Name -> text of each patch, in the order in which they apply; the new files are one."""
        new = NEW
        for path in self.new_file_list():
            lines = (self.new_files / path).read_text().splitlines(keepends=True)
            new += (f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n"
                    f"+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n+{'+'.join(lines)}")
        return {"0000-new-files.patch": new,
                **{p.name: p.read_text() for p in (*self.patch_list(), *self.on_top)}}

    def paths(self) -> list[str]:
        """The files that any of it changes or adds, relative to a Linux tree."""
        return sorted(set(re.findall(r"^\+\+\+ b/(\S+)", "".join(self.texts().values()), re.M)))


def versions() -> list[str]:
    """The versions of Linux that there are patches for."""
    return sorted(p.name for p in PATCHES.iterdir() if p.is_dir() and "-" not in p.name)


def deadline_patches(linux: str) -> tuple[Path, ...]:
    """What is applied after the patches of a version to mask by deadline; few versions have it."""
    return tuple(sorted((PATCHES / f"{linux}-edf").glob("*.patch")))


def of(linux: str) -> Patchset:
    """The patch set for one version of Linux."""
    return Patchset(patches=PATCHES / linux)


def series_of(version: str) -> str:
    """``6.12`` of ``6.12.117``."""
    return ".".join(version.split(".")[:2])


def linux_version(tree: Path, called: Path | None = None) -> str:
    """The version of the Linux tree at ``tree``, such as 6.12.117. Errors say ``called``."""
    if not (tree / "kernel/time/hrtimer.c").is_file() or not (tree / "Makefile").is_file():
        raise ToolError(f"{called or tree}: not a Linux source tree (no kernel/time/hrtimer.c)")
    head = (tree / "Makefile").read_text(errors="replace")[:2000]
    fields = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = *(\d+)", head, re.MULTILINE))
    return ".".join(fields.get(k, "?") for k in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))


def compute(tree: Path, patchset: Patchset, reverse: bool = False) -> dict[str, bytes | None]:
    """What the files of ``tree``, which is only read, become with the patch set, or without it.

    ``None``: the file goes. Raises :class:`ToolError` if something does not fit.
    """
    if shutil.which("patch") is None:
        raise ToolError("'patch' is missing; it is in the Debian package patch")
    paths, texts = patchset.paths(), patchset.texts()
    with tempfile.TemporaryDirectory(prefix="timershield-") as scratch:
        for path in paths:
            write_file(Path(scratch, path), _contents(tree / path))
        for name in reversed(texts) if reverse else texts:
            done = subprocess.run(
                ["patch", "-p1", "--batch", "--forward", "--fuzz=0", "--no-backup-if-mismatch",
                 "--reject-file=-", *["--reverse"] * reverse],
                cwd=scratch, input=texts[name], capture_output=True, text=True, check=False)
            if done.returncode:
                raise ToolError(f"{name} does not fit {tree}:\n{done.stdout}{done.stderr}")
        return {path: _contents(Path(scratch, path)) for path in paths}


def _contents(file: Path) -> bytes | None:
    return file.read_bytes() if file.is_file() else None


def write_file(target: Path, data: bytes | None) -> None:
    """Replace ``target`` at once, or remove it; hard links to its former contents keep those."""
    if data is None:
        target.unlink(missing_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(target.name + ".timershield-new")
    try:
        temporary.write_bytes(data)
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def write_all(tree: Path, contents: Mapping[str, bytes | None]) -> list[str]:
    """Write what differs and return its paths; put everything back if that fails half-way."""
    before = {path: _contents(tree / path) for path in contents}
    changed = [path for path in contents if contents[path] != before[path]]
    try:
        for path in changed:
            write_file(tree / path, contents[path])
    except BaseException:
        for path in changed:
            if _contents(tree / path) != before[path]:
                write_file(tree / path, before[path])
        raise
    return changed


def sync(pristine: Path, tree: Path, patchset: Patchset) -> list[str]:
    """Make ``tree``, a copy of ``pristine``, carry exactly the patch set; return what changed.

    A file whose contents stay is not written, so that a build compiles no more than it has to.
    """
    manifest = tree / MANIFEST
    before = manifest.read_text().split() if manifest.exists() else []
    wanted = compute(pristine, patchset)
    manifest.write_text("\n".join(sorted({*before, *wanted})) + "\n")
    changed = write_all(tree, {path: _contents(pristine / path) for path in before} | wanted)
    manifest.write_text("\n".join(wanted) + "\n")
    return changed
