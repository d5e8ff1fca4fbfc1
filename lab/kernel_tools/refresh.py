# SPDX-License-Identifier: GPL-2.0-or-later
"""kernel/refresh"""

import argparse
import difflib
import sys
from collections.abc import Sequence
from pathlib import Path

from lab import patchset
from lab.errors import LabError
from lab.kernel_tools import git, patch_file
from lab.patchset import Patchset

DESCRIPTION = """\
Write what was changed in a patched Linux tree back to kernel/src and kernel/patches/6.12.

In a git tree prepared by "kernel/apply --git" every commit after the tag timershield-base is
one patch: its message becomes the patch's text, its changes to files that Linux has become the
patch, numbered in the order of the commits. Files that Linux does not have are new files; they
are taken from HEAD, whichever commit they were changed in, and go to kernel/src. A commit that
touches new files only makes no patch.

In a tree without git, files of kernel/src are copied back, and each patch whose files were
changed is made again, provided that no other patch changes the same file.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kernel/refresh", description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("tree", type=Path, help="the patched Linux tree")
    parser.add_argument("--base", default=git.BASE_TAG, metavar="COMMIT",
                        help="the commit before the first patch (timershield-base)")
    parser.add_argument("--pristine", type=Path, metavar="TREE",
                        help="for a tree without git: the same tree without TimerShield")
    return parser


def _message(text: str) -> str:
    lines = [line for line in text.splitlines() if not line.startswith(git.TRAILER)]
    return "\n".join(lines).rstrip() + "\n"


def _git_patches(tree: Path, base: str, new: set[str]) -> dict[str, str]:
    """Patch file name -> contents."""
    found: dict[str, str] = {}
    for commit in git.commits(tree, base):
        files = git.git(tree, "diff-tree", "-r", "--no-commit-id", "--name-only", "--no-renames",
                        commit).split("\n")
        old = [f for f in files if f and f not in new]
        if not old:
            continue
        diff = git.git(tree, "diff-tree", "-p", "--no-commit-id", "--no-renames", "--no-color",
                       "--full-index", commit, "--", *old)
        diff = "\n".join(
            line for line in diff.split("\n") if not line.startswith("index ")
        )
        message = _message(git.message(tree, commit))
        found[patch_file.name(len(found) + 1, message)] = patch_file.text(message, diff)
    return found


def refresh_git(tree: Path, base: str, patches: Patchset) -> tuple[int, int]:
    """Export commits; return how many patches and new files there are."""
    git.require_clean(tree)
    listing = git.git(tree, "diff", "--no-renames", "--name-status", base, "HEAD")
    states = dict(line.split("\t")[::-1] for line in listing.splitlines())
    new = {f for f, s in states.items() if s == "A"}
    deleted = [f for f, s in states.items() if s == "D"]
    if deleted:
        raise LabError(f"{tree}: {deleted[0]} was deleted; patches only change files")
    found = _git_patches(tree, base, new)
    contents = {p: git.git(tree, "show", f"HEAD:{p}").encode() for p in sorted(new)}
    _replace(patches, found, contents)
    return len(found), len(contents)


def _replace(patches: Patchset, found: dict[str, str], contents: dict[str, bytes]) -> None:
    """Write only what differs, remove what is no more."""
    patches.patches.mkdir(parents=True, exist_ok=True)
    for patch in patches.patch_list():
        if patch.name not in found:
            patch.unlink()
    for name, text in found.items():
        target = patches.patches / name
        if not target.exists() or target.read_text() != text:
            patchset.write_file(target, text.encode())
    for path in patches.new_file_list():
        if path not in contents:
            (patches.new_files / path).unlink()
    for path, data in contents.items():
        target = patches.new_files / path
        if not target.exists() or target.read_bytes() != data:
            patchset.write_file(target, data)


def _diff(path: str, before: bytes, after: bytes) -> str:
    lines = difflib.unified_diff(
        before.decode().splitlines(keepends=True), after.decode().splitlines(keepends=True),
        f"a/{path}", f"b/{path}",
    )
    return f"diff --git a/{path} b/{path}\n" + "".join(lines)


def refresh_plain(tree: Path, pristine: Path, patches: Patchset) -> tuple[int, int]:
    """Take edits of a tree without git; return how many patches and new files changed."""
    wanted = patchset.compute(pristine, patches).files
    changed = [p for p, data in wanted.items() if (tree / p).read_bytes() != data]
    new = set(patches.new_file_list())
    remade: dict[Path, str] = {}
    for path in (p for p in changed if p not in new):
        owners = [p for p in patches.patch_list() if path in patchset.patched_paths(p)]
        if len(owners) != 1:
            names = ", ".join(p.name for p in owners)
            raise LabError(f"{path} was edited and is changed by {names}: it is not clear where "
                           "the edit belongs; use a git tree (kernel/apply --git)")
        message, _ = patch_file.read(owners[0])
        diff = "".join(
            _diff(p, (pristine / p).read_bytes(), (tree / p).read_bytes())
            for p in patchset.patched_paths(owners[0])
        )
        remade[owners[0]] = patch_file.text(message, diff)
    for patch, text in remade.items():
        patchset.write_file(patch, text.encode())
    copied = [p for p in changed if p in new]
    for path in copied:
        patchset.write_file(patches.new_files / path, (tree / path).read_bytes())
    return len(remade), len(copied)


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    arguments = _parser().parse_args(argv)
    tree: Path = arguments.tree
    try:
        patchset.check_linux_tree(tree)
        if git.is_repository(tree):
            count, new = refresh_git(tree, arguments.base, Patchset())
            print(f"{count} patches, {new} new files")
        elif arguments.pristine is not None:
            count, new = refresh_plain(tree, arguments.pristine, Patchset())
            print(f"{count} patches and {new} new files changed")
        else:
            raise LabError(f"{tree} is no git tree: --pristine= must name the same tree "
                           "without TimerShield")
    except LabError as error:
        print(f"kernel/refresh: {error}", file=sys.stderr)
        return 1
    return 0


__all__ = ["main", "refresh_git", "refresh_plain"]
