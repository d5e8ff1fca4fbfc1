# SPDX-License-Identifier: GPL-2.0-or-later
"""kernel/apply"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from kernel.tools import git, patchset
from kernel.tools.errors import ToolError
from kernel.tools.patchset import Patchset

DESCRIPTION = """\
Put TimerShield on a Linux tree: the patches of kernel/patches/VERSION in the order of their
names, and the new files of kernel/src. All of it is tried in a scratch directory
first; if something does not fit, the patch and the file are named and the tree stays as it was.
A tree that has everything already is left alone, with exit status 0.
"""
EPILOG = """\
With --git the tree must be a clean git work tree. Every patch becomes a
commit, with the new files that it names, and the tag timershield-base marks where they begin.
Change, amend, reorder or add commits there, then run kernel/refresh to write them back. The line
"Patch-file:" at the end of a commit's message is the name that its patch keeps.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kernel/apply", description=DESCRIPTION, epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("tree", type=Path, help="the Linux tree")
    parser.add_argument("--check", action="store_true",
                        help="only say whether everything fits, or with --reverse comes off")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--git", action="store_true", help="one commit for each patch")
    way.add_argument("--reverse", action="store_true", help="take everything off again")
    return parser


def _apply_plain(tree: Path, contents: dict[str, bytes]) -> None:
    written = patchset.write_all(tree, contents)
    print(f"{len(written)} files written")


def _apply_git(tree: Path, patches: Patchset) -> None:
    git.require_clean(tree)
    environment = git.identity(tree)
    base = git.git(tree, "rev-parse", "HEAD").strip()
    try:
        for patch in patches.patch_list():
            message, diff = patches.read(patch)
            git.git(tree, "apply", "--index", "-", text=diff)
            git.git(tree, "commit", "-q", "-F", "-", environment=environment,
                    text=f"{message}\n{git.TRAILER}{patch.name}\n")
    except BaseException:
        git.git(tree, "reset", "-q", "--hard", base)
        raise
    git.git(tree, "tag", "-f", git.BASE_TAG, base)
    print(f"{len(git.commits(tree, base))} commits after the tag {git.BASE_TAG}")


def _reverse(tree: Path, patches: Patchset, check: bool) -> None:
    if not patchset.is_applied(tree, patches):
        raise ToolError(f"{tree}: this TimerShield is not, or not exactly, on that tree")
    restored = patchset.compute_reverse(tree, patches)
    if check:
        print(f"{len(patches.patch_list())} patches and {len(patches.new_file_list())} new files "
              "can be taken off")
        return
    patchset.write_all(tree, restored)
    for path in patches.new_file_list():
        (tree / path).unlink()
    print(f"{len(restored)} files put back, {len(patches.new_file_list())} removed")


def run(arguments: argparse.Namespace, patches: Patchset) -> None:
    """Do what the command line asks for."""
    tree: Path = arguments.tree
    version = patchset.linux_version(tree)
    if arguments.reverse:
        _reverse(tree, patches, arguments.check)
        return
    if patchset.is_applied(tree, patches):
        print(f"{tree}: TimerShield is on it already; nothing to do")
        return
    clash = patchset.conflicts(tree, patches)
    if clash:
        raise ToolError(
            f"{tree} has {clash[0]} already: another TimerShield, or part of this one, is on "
            "it; take that off first"
        )
    contents = patchset.compute(tree, patches)
    print(f"Linux {version}: {len(patches.patch_list())} patches and "
          f"{len(patches.new_file_list())} new files fit")
    if arguments.check:
        return
    if arguments.git:
        _apply_git(tree, patches)
    else:
        _apply_plain(tree, contents)


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    try:
        arguments = _parser().parse_args(argv)
        run(arguments, patchset.for_tree(arguments.tree))
    except (ToolError, OSError) as error:
        print(f"kernel/apply: {error}", file=sys.stderr)
        return 1
    return 0
