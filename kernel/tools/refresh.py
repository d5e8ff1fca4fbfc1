# SPDX-License-Identifier: GPL-2.0-or-later
"""kernel/refresh"""

import argparse
import itertools
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kernel.tools import git, patch_file, patchset
from kernel.tools.errors import ToolError
from kernel.tools.patchset import Patchset

DESCRIPTION = """\
Write what was changed in a patched git tree of Linux back to kernel/src and kernel/patches/VERSION.

In a git tree prepared by "kernel/apply --git" every commit after the tag timershield-base is
one patch: its message becomes the patch's text, its changes to files that Linux has become the
patch. The line "Patch-file:" of the message, which kernel/apply writes, names the file; a commit
without one gets the next free number, and a name from its subject. Files that Linux does not have
are new files; they are taken from HEAD, whichever commit they were changed in, and go to
kernel/src. The patch of the commit that adds a new file says so in a line "New-file:"; you need
not write it. A commit that only changes new files makes no patch. Nothing is written unless the
patches, in the order of their names, lead to what HEAD has. What was not edited stays as it is,
byte for byte.
"""
_PATCH_NAME = re.compile(r"\d{4}-[\w.+-]*\.patch")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kernel/refresh", description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("tree", type=Path, help="the patched git tree")
    parser.add_argument("--base", default=git.BASE_TAG, metavar="COMMIT",
                        help="the commit before the first patch (timershield-base)")
    return parser


def _message(commit: str, added: list[str]) -> str:
    """The message of the patch that a commit with this message, which adds files, becomes."""
    message = patch_file.without(commit, git.TRAILER)
    if sorted(patch_file.new_files(message)) == added:
        return message
    lines = "".join(f"{patch_file.NEW_FILE}{path}\n" for path in added)
    return patch_file.without(message, patch_file.NEW_FILE) + "\n" + lines


def _given_name(message: str) -> str | None:
    """The file name that a commit's message asks for."""
    found = re.search(rf"^{git.TRAILER}(.*)$", message, re.MULTILINE)
    if found is None:
        return None
    if not _PATCH_NAME.fullmatch(found[1]):
        raise ToolError(f"'{git.TRAILER}{found[1]}': the name must look like 0014-some-words.patch")
    return found[1]


def _names(messages: list[str]) -> list[str]:
    """The file names of the patches that the commits with these messages become."""
    given = [_given_name(m) for m in messages]
    kept = [name for name in given if name is not None]
    for before, after in itertools.pairwise(kept):
        if before == after:
            raise ToolError(f"two commits say '{git.TRAILER}{after}': give one another name, or "
                           "take the line out")
        if before > after:
            raise ToolError(f"the commit of {after} comes after that of {before}: give them other "
                           f"numbers in the lines '{git.TRAILER}' of their messages, or change "
                           "their order")
    number = max((int(n[:4]) for n in kept), default=0)
    names = []
    for name, message in zip(given, messages, strict=True):
        if name is None:
            number += 1
            name = patch_file.name(number, message)
        names.append(name)
    return names


def _git_patches(tree: Path, base: str, new: set[str]) -> dict[str, bytes]:
    """Patch file name -> contents."""
    messages, texts, rest = [], [], set(new)
    for commit in git.commits(tree, base):
        files = git.git(tree, "diff-tree", "-r", "--no-commit-id", "--name-only", "--no-renames",
                        commit).split("\n")
        old = [f for f in files if f and f not in new]
        added = sorted(rest.intersection(files))
        rest.difference_update(added)
        if not old and not added:
            continue
        message = git.message(tree, commit)
        if re.match("(?:fixup|squash|amend)! ", message):
            raise ToolError(f"{tree}: there is a commit '{message.splitlines()[0]}': first "
                           f"git rebase -i --autosquash {base}")
        diff = git.git(tree, "diff-tree", "-p", "--no-commit-id", "--no-renames", "--no-color",
                       "--full-index", commit, "--", *old) if old else ""
        messages.append(message)
        diff = "\n".join(x for x in diff.split("\n") if not x.startswith("index "))
        texts.append(patch_file.text(_message(message, added), diff).encode())
    return dict(zip(_names(messages), texts, strict=True))


def _without_headings(text: bytes) -> bytes:
    return re.sub(rb"^(@@ -\S+ \+\S+ @@).*$", rb"\1", text, flags=re.MULTILINE)


def _stored(patches: Patchset, name: str, text: bytes) -> bytes:
    """The stored patch, if ``text`` differs from it only by what diff programs disagree about:
    which line of C they show behind "@@".
    """
    path = patches.patches / name
    stored = path.read_bytes() if path.exists() else b""
    return stored if _without_headings(stored) == _without_headings(text) else text


def _require_outcome(tree: Path, base: str, found: dict[str, bytes],
                     contents: dict[str, bytes]) -> None:
    """Fail unless the patches in the order of their names, which need not be that of the
    commits, make of ``base`` what HEAD has.
    """
    with tempfile.TemporaryDirectory(prefix="timershield-") as name:
        linux, written = Path(name, "linux"), Patchset(Path(name, "src"), Path(name, "patches"))
        _replace(written, found, contents)
        for path in {p for patch in written.patch_list() for p in patchset.patched_paths(patch)}:
            patchset.write_file(linux / path, git.git(tree, "show", f"{base}:{path}").encode())
        order = (f"{tree}: applied in the order of their names, the patches do not lead to HEAD; "
                 f"change the order of the commits, or their lines '{git.TRAILER}'")
        try:
            outcome = patchset.compute(linux, written)
        except ToolError as error:
            raise ToolError(f"{order}\n{error}") from error
        for path, data in outcome.items():
            if data != git.git(tree, "show", f"HEAD:{path}").encode():
                raise ToolError(f"{order}: {path} differs")


def refresh_git(tree: Path, base: str, patches: Patchset) -> tuple[int, int]:
    """Export commits; return how many patches and new files there are."""
    git.require_clean(tree)
    listing = git.git(tree, "diff", "--no-renames", "--name-status", base, "HEAD")
    states = dict(line.split("\t")[::-1] for line in listing.splitlines())
    new = {f for f, s in states.items() if s == "A"}
    deleted = [f for f, s in states.items() if s == "D"]
    if deleted:
        raise ToolError(f"{tree}: {deleted[0]} was deleted; patches only change files")
    found = _git_patches(tree, base, new)
    for what, there, stored in (("patch", found, patches.patch_list()),
                                ("new file", new, patches.stored_files())):
        if stored and not there:
            raise ToolError(f"{tree} has no {what} after {base}: all of those in the project would "
                           "be removed; --base= must name the commit before the first patch")
    contents = {p: git.git(tree, "show", f"HEAD:{p}").encode() for p in sorted(new)}
    _require_outcome(tree, base, found, contents)
    _replace(patches, {n: _stored(patches, n, text) for n, text in found.items()}, contents)
    return len(found), len(contents)


def _replace(patches: Patchset, found: dict[str, bytes], contents: dict[str, bytes]) -> None:
    """Write only what differs, remove what is no more."""
    patchset.write_all(patches.patches, found)
    patchset.write_all(patches.new_files, contents)
    for patch in patches.patch_list():
        if patch.name not in found:
            patch.unlink()
    for path in patches.stored_files():
        if path not in contents:
            (patches.new_files / path).unlink()


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    arguments = _parser().parse_args(argv)
    tree: Path = arguments.tree
    try:
        patches = patchset.for_tree(tree)
        if not git.is_repository(tree):
            raise ToolError(f"{tree} is no git tree: kernel/apply --git prepares one")
        count, new = refresh_git(tree, arguments.base, patches)
        print(f"{count} patches, {new} new files")
    except (ToolError, OSError) as error:
        print(f"kernel/refresh: {error}", file=sys.stderr)
        return 1
    return 0
