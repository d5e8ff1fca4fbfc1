# SPDX-License-Identifier: GPL-2.0-or-later
"""The little of git that the kernel tools need."""

import os
import shutil
import subprocess
from pathlib import Path

from kernel.tools.errors import ToolError

BASE_TAG = "timershield-base"
"""In a tree prepared by ``kernel/apply --git``: the commit before the first patch."""
TRAILER = "Patch-file: "
"""In a commit's message: the file name of the patch that it becomes."""


def git(tree: Path, *arguments: str, text: str | None = None,
        environment: dict[str, str] | None = None) -> str:
    """Run git in ``tree`` and return what it prints."""
    if shutil.which("git") is None:
        raise ToolError("'git' is missing; it is in the Debian package git")
    done = subprocess.run(
        ["git", "-C", str(tree), *arguments], input=text, capture_output=True, text=True,
        check=False, env={**os.environ, **(environment or {})},
    )
    if done.returncode:
        raise ToolError(f"git {arguments[0]} in {tree}: {done.stderr.strip()}")
    return done.stdout


def is_repository(tree: Path) -> bool:
    """Whether ``tree`` is the top of a git work tree."""
    return (tree / ".git").exists()


def require_clean(tree: Path) -> None:
    """Fail if tracked files of the work tree differ from HEAD."""
    if git(tree, "status", "--porcelain", "--untracked-files=no").strip():
        raise ToolError(f"{tree}: there are changes that are not committed")


def identity(tree: Path) -> dict[str, str]:
    """An author and committer, where git has none configured."""
    done = subprocess.run(["git", "-C", str(tree), "config", "user.email"],
                          capture_output=True, check=False)
    if not done.returncode:
        return {}
    return {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "TimerShield"), ("EMAIL", "timershield@localhost"))}


def commits(tree: Path, base: str) -> list[str]:
    """Commits after ``base``, oldest first."""
    return git(tree, "rev-list", "--reverse", "--no-merges", f"{base}..HEAD").split()


def message(tree: Path, commit: str) -> str:
    """A commit's whole message."""
    return git(tree, "show", "-s", "--format=%B", commit).rstrip() + "\n"
