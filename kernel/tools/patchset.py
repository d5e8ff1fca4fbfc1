# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel part of the project as data: whole new files and an ordered list of patches.

New files live below ``kernel/src`` at the paths they take in a Linux tree; patches below
``kernel/patches/VERSION`` change existing files only and apply in the order of their names. Each
new file goes with the patch whose message names it.
Everything here works out the patched contents in a scratch directory first, so that a tree
is either patched as a whole or left as it was.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kernel.tools import patch_file
from kernel.tools.errors import ToolError

KERNEL = Path(__file__).resolve().parent.parent
PATCHES = KERNEL / "patches"
"""A folder for each version of Linux."""
NEW_FILES = KERNEL / "src"
DEFAULT = "6.12"
"""The version of Linux that is meant where none is named."""

MANIFEST = ".timershield"
"""In a tree kept up to date by :func:`sync`: the files that differ from the pristine tree."""

_NAME = re.compile(rb"^(?:---|\+\+\+) (?:[ab]/)?([^\t\n]+)", re.MULTILINE)


@dataclass(frozen=True)
class Patchset:
    """Which new files and which patches there are."""

    new_files: Path = NEW_FILES
    patches: Path = PATCHES / DEFAULT
    limit: int | None = None
    """Only so many patches, from the first on, and their new files."""
    on_top: tuple[Path, ...] = ()
    """Patches that change the outcome, new files too. They are no part of the project's kernel:
    only :func:`compute` and :func:`sync` know them."""

    def patch_list(self) -> list[Path]:
        """The patches in the order in which they apply."""
        return sorted(self.patches.glob("*.patch"))[: self.limit]

    def read(self, patch: Path) -> tuple[str, str]:
        """The message and the diff of a patch, its new files included."""
        message, diff = patch_file.read(patch)
        new = [patch_file.new_file_diff(path, (self.new_files / path).read_bytes())
               for path in patch_file.new_files(message)]
        return message, "".join(new) + diff

    def new_file_list(self) -> list[str]:
        """Paths, relative to a Linux tree, of the files that the patches add."""
        named: dict[str, Path] = {}
        for patch in sorted(self.patches.glob("*.patch")):
            for path in patch_file.new_files(patch_file.read(patch)[0]):
                if path in named:
                    raise ToolError(f"{path}: {named[path].name} and {patch.name} both name it")
                named[path] = patch
        there = self.stored_files()
        for path in there:
            if path not in named:
                raise ToolError(f"{path}: no patch in {self.patches} names it; one must say "
                                f"'{patch_file.NEW_FILE}{path}'")
        for path, patch in named.items():
            if path not in there:
                raise ToolError(f"{path}: {patch} names it, but it is not in {self.new_files}")
        return [path for path in there if named[path] in self.patch_list()]

    def stored_files(self) -> list[str]:
        """All that is in ``new_files``, whether patches name it or not."""
        root = self.new_files
        return sorted(
            str(p.relative_to(root))
            for p in root.rglob("*")
            if p.is_file() and not p.name.startswith(".")
        )


def patched_paths(patch: Path) -> list[str]:
    """The files that a patch changes, relative to the tree."""
    body = patch.read_bytes()
    start = re.search(rb"^(diff --git |--- )", body, re.MULTILINE)
    names = {m.decode() for m in _NAME.findall(body, start.start() if start else 0)}
    names.discard("/dev/null")
    return sorted(names)


def versions() -> list[str]:
    """The versions of Linux that there are patches for."""
    return sorted(p.name for p in PATCHES.iterdir() if p.is_dir())


def of(linux: str) -> Patchset:
    """The patch set for one version of Linux."""
    return Patchset(patches=PATCHES / linux)


def for_tree(tree: Path) -> Patchset:
    """The patch set for the Linux tree at ``tree``; fail if there is none."""
    version = linux_version(tree)
    linux = series_of(version)
    if linux not in versions():
        raise ToolError(f"{tree}: this is Linux {version}; there are patches for "
                        f"{' and '.join(versions())}")
    return of(linux)


def series_of(version: str) -> str:
    """``6.12`` of ``6.12.117``."""
    return ".".join(version.split(".")[:2])


def linux_version(tree: Path, called: Path | None = None) -> str:
    """The version of the Linux tree at ``tree``, such as 6.12.117; fail if it is none.

    ``called``: where the user knows it to be, if not there.
    """
    called = called or tree
    makefile = tree / "Makefile"
    if not (tree / "kernel" / "time" / "hrtimer.c").is_file() or not makefile.is_file():
        raise ToolError(f"{called}: not a Linux source tree (no kernel/time/hrtimer.c)")
    head = makefile.read_text(errors="replace")[:2000]
    fields = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = *(\d+)", head, re.MULTILINE))
    return ".".join(fields.get(k, "?") for k in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))


def _failed_files(output: str, patch: Path) -> list[str]:
    """Which files ``patch`` complained about."""
    failed: list[str] = []
    current = ""
    for line in output.splitlines():
        if m := re.match(r"(?:patching|checking) file '?([^' ]+)'?", line):
            current = m.group(1)
        elif re.search(r"FAILED|can't find file|Reversed|No file to patch", line):
            if m := re.search(r"hunks? FAILED.* file ([^ ]+)", line):
                current = m.group(1).removesuffix(".rej")
            if current and current not in failed:
                failed.append(current)
    return failed or patched_paths(patch)


def _run_patch(scratch: Path, patch: Path, *options: str) -> str | None:
    """Apply one patch below ``scratch``; return the output if it did not fit."""
    if not patched_paths(patch):
        return None
    done = subprocess.run(
        ["patch", "-p1", "--batch", "--forward", "--fuzz=0", "--no-backup-if-mismatch",
         "--reject-file=-", *options, "-i", str(patch.resolve())],
        cwd=scratch, capture_output=True, text=True, check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    return done.stdout + done.stderr if done.returncode else None


def _copy_touched(tree: Path, scratch: Path, names: Iterable[str]) -> None:
    for name in names:
        source = tree / name
        target = scratch / name
        if source.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def _apply(tree: Path, scratch: Path, patch: Path) -> list[str]:
    """Apply a patch to copies in ``scratch`` of what it touches; return the names of that."""
    names = patched_paths(patch)
    _copy_touched(tree, scratch, names)
    output = _run_patch(scratch, patch)
    if output is not None:
        files = ", ".join(_failed_files(output, patch))
        raise ToolError(f"{patch.name} does not fit {files}\n{output.rstrip()}")
    return names


def _apply_on_top(tree: Path, result: dict[str, bytes], scratch: Path, patch: Path) -> None:
    """Apply a patch to ``result``, or to what the tree has."""
    for path in set(patched_paths(patch)) & set(result):
        write_file(scratch / path, result[path])
    for path in _apply(tree, scratch, patch):
        result[path] = (scratch / path).read_bytes()


def compute(tree: Path, patchset: Patchset) -> dict[str, bytes]:
    """Work out the contents of all files that the patch set adds to or changes in ``tree``.

    The tree is only read. Raises :class:`ToolError` naming the patch and the file if
    something does not fit.
    """
    if shutil.which("patch") is None:
        raise ToolError("'patch' is missing; it is in the Debian package patch")
    result = {}
    with tempfile.TemporaryDirectory(prefix="timershield-") as name:
        scratch = Path(name)
        touched: set[str] = set()
        for patch in patchset.patch_list():
            touched.update(_apply(tree, scratch, patch))
        for path in sorted(touched):
            if (scratch / path).is_file():
                result[path] = (scratch / path).read_bytes()
        for path in patchset.new_file_list():
            if path in result:
                raise ToolError(f"{path} is in kernel/src and changed by a patch: it must be one")
            result[path] = (patchset.new_files / path).read_bytes()
        for patch in patchset.on_top:
            _apply_on_top(tree, result, scratch, patch)
    return result


def _unapply(tree: Path, patchset: Patchset, scratch: Path) -> bool:
    """Take all patches off copies in ``scratch`` of what they touch; whether that worked."""
    for patch in reversed(patchset.patch_list()):
        _copy_touched(tree, scratch, patched_paths(patch))
        if _run_patch(scratch, patch, "--reverse") is not None:
            return False
    return True


def is_applied(tree: Path, patchset: Patchset) -> bool:
    """Whether all of the patch set, and exactly it, is in ``tree`` already."""
    for path in patchset.new_file_list():
        target = tree / path
        wanted = (patchset.new_files / path).read_bytes()
        if not target.is_file() or target.read_bytes() != wanted:
            return False
    if not patchset.patch_list():
        return False
    with tempfile.TemporaryDirectory(prefix="timershield-") as name:
        return _unapply(tree, patchset, Path(name))


def compute_reverse(tree: Path, patchset: Patchset) -> dict[str, bytes]:
    """What the patched files of ``tree`` were before; the patch set must be applied."""
    result = {}
    with tempfile.TemporaryDirectory(prefix="timershield-") as name:
        scratch = Path(name)
        if not _unapply(tree, patchset, scratch):
            raise ToolError(f"{tree}: the patches cannot be taken off")
        for patch in patchset.patch_list():
            for path in patched_paths(patch):
                result[path] = (scratch / path).read_bytes()
    return result


def conflicts(tree: Path, patchset: Patchset) -> list[str]:
    """New files that exist in ``tree`` already."""
    return [p for p in patchset.new_file_list() if (tree / p).exists()]


def write_file(target: Path, data: bytes, mode: int = 0o644) -> None:
    """Replace ``target`` at once; hard links to its former contents stay what they were."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(target.name + ".timershield-new")
    try:
        temporary.write_bytes(data)
        temporary.chmod(mode)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777 if path.exists() else 0o644


def _put_back(undo: list[tuple[Path, bytes | None]]) -> list[str]:
    """Give files their former contents, or none; return what went wrong, file by file."""
    lost = []
    for target, before in reversed(undo):
        try:
            if before is None:
                target.unlink(missing_ok=True)
            else:
                write_file(target, before, _mode(target))
        except OSError as error:
            lost.append(f"{target}: {error.strerror}")
    return lost


def write_all(tree: Path, contents: dict[str, bytes]) -> list[str]:
    """Write to ``tree`` what differs; put everything back if writing fails half-way."""
    undo: list[tuple[Path, bytes | None]] = []
    written: list[str] = []
    try:
        for path, data in contents.items():
            target = tree / path
            before = target.read_bytes() if target.is_file() else None
            if before == data:
                continue
            write_file(target, data, _mode(target))
            undo.append((target, before))
            written.append(path)
    except BaseException as error:
        lost = _put_back(undo)
        if lost:
            raise ToolError("\n".join([
                f"{tree}: {error or type(error).__name__}; these files could not be put back:",
                *lost,
            ])) from error
        raise
    return written


def sync(pristine: Path, tree: Path, patchset: Patchset) -> list[str]:
    """Make ``tree``, a copy of ``pristine``, carry exactly the current patch set.

    Only files whose contents change are written, so that an incremental build of ``tree``
    rebuilds no more than it has to. Returns the files written or removed.
    """
    contents = compute(pristine, patchset)
    manifest = tree / MANIFEST
    before = set(manifest.read_text().split("\n")) - {""} if manifest.exists() else set()
    changed = []
    for path in sorted(before - set(contents)):
        if (pristine / path).is_file():
            write_file(tree / path, (pristine / path).read_bytes(), _mode(pristine / path))
        else:
            (tree / path).unlink(missing_ok=True)
        changed.append(path)
    manifest.write_text("\n".join(sorted(before | set(contents))) + "\n")
    changed += write_all(tree, contents)
    manifest.write_text("\n".join(sorted(contents)) + "\n")
    return changed
