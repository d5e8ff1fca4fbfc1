#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel part; kernel/apply, kernel/refresh and kernel/series are links to this file.

New files of ``kernel/src`` are copied to the same paths of a Linux tree. The patches of
``kernel/patches/VERSION`` apply after that, in the order of their names: a line ``Subject: …``, a
message, ``---``, a diff.
"""

import argparse
import contextlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

KERNEL = Path(__file__).resolve().parent.parent
PATCHES = KERNEL / "patches"
"""A folder for each version of Linux."""
NEW_FILES = KERNEL / "src"
MINIMA = "kernel/time/timershield_minima.h"
"""The one of them that the series of levels needs, too."""
DEFAULT = "6.12"
"""The version of Linux that is meant where none is named."""
BASE = "timershield-base"
NEW = """Subject: timershield: add the new files

Nothing compiles them yet. The patches that follow put them to use.
---
"""
HELP = {"apply": f"""\
Put the new files of kernel/src and the patches of kernel/patches/VERSION on a Linux tree. If
something does not fit, it is named, and the tree stays as it was. With --git the new files become a
commit, and each patch another one; the tag {BASE} marks the commit before them. Change,
amend, reorder or add commits there, then run kernel/refresh.
""", "refresh": f"""\
Write the commits of a tree prepared by "kernel/apply --git" back. Files that Linux does not have go
to kernel/src as they are in HEAD. What each commit after {BASE} changes in other files
becomes a patch in kernel/patches/VERSION.
""", "series": """\
Write TimerShield as mails for "git am" or "git send-email": a cover letter, one mail with the new
files, and one for each patch. The tree builds after each.
"""}


class ToolError(Exception):
    """Something the user can act on; a command prints it without a traceback."""


def new_files() -> list[str]:
    """Relative to a Linux tree."""
    return sorted(str(p.relative_to(NEW_FILES)) for p in NEW_FILES.rglob("*") if p.is_file())


def patches(linux: str) -> list[Path]:
    """Those of a version of Linux, in the order in which they apply."""
    return sorted((PATCHES / linux).glob("*.patch"))


def classes(linux: str) -> dict[str, str]:
    """Name -> text of each patch of the series that masks ordinary tasks' timers only.

    It stands alone, new files included. Empty: there is none for this version.
    """
    return {p.name: p.read_text() for p in patches(f"{linux}-classes")}


def levels(linux: str) -> dict[str, str]:
    """Those, then the series that masks real-time tasks' timers, too, by level."""
    more = {p.name: p.read_text() for p in patches(f"{linux}-levels")}
    return more and {**classes(linux), "minima.patch": _new_files(MINIMA), **more}


def _new_files(*added: str) -> str:
    new = NEW
    for path in added:
        lines = (NEW_FILES / path).read_text().splitlines(keepends=True)
        new += (f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n"
                f"+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n+{'+'.join(lines)}")
    return new


def texts(linux: str, *more: Path) -> dict[str, str]:
    """Name -> text of each patch of a version, then ``more`` diffs; the new files are the first."""
    return {"0000-new-files.patch": _new_files(*new_files()),
            **{p.name: p.read_text() for p in (*patches(linux), *more)}}


def paths(series: Mapping[str, str]) -> list[str]:
    """The files that any of the patches changes or adds, relative to a Linux tree."""
    return sorted(set(re.findall(r"^\+\+\+ b/(\S+)", "".join(series.values()), re.M)))


def versions() -> list[str]:
    """The versions of Linux that there are patches for."""
    return sorted(p.name for p in PATCHES.iterdir() if p.is_dir() and "-" not in p.name)


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


def contents_of(file: Path) -> bytes | None:
    """Those of ``file``; ``None`` if it is not there."""
    return file.read_bytes() if file.is_file() else None


def compute(
    tree: Path, series: Mapping[str, str], reverse: bool = False
) -> dict[str, bytes | None]:
    """What the files of ``tree``, which is only read, become with the patches, or without them.

    ``None``: the file goes. Raises :class:`ToolError` if something does not fit.
    """
    if shutil.which("patch") is None:
        raise ToolError("'patch' is missing; it is in the Debian package patch")
    with tempfile.TemporaryDirectory(prefix="timershield-") as name:
        scratch = Path(name)
        write_all(scratch, {path: contents_of(tree / path) for path in paths(series)})
        for patch in reversed(list(series)) if reverse else series:
            done = subprocess.run(
                ["patch", "-p1", "--batch", "--forward", "--fuzz=0", "--no-backup-if-mismatch",
                 "--reject-file=-", *["--reverse"] * reverse],
                cwd=scratch, input=series[patch], capture_output=True, text=True, check=False)
            if done.returncode:
                raise ToolError(f"{patch} does not fit {tree}:\n{done.stdout}{done.stderr}")
        return {path: contents_of(scratch / path) for path in paths(series)}


def write_all(tree: Path, contents: Mapping[str, bytes | None]) -> list[str]:
    """Write what differs and return its paths; write nothing if there is no room for all of it.

    Hard links to the former contents of a file keep those.
    """
    changed = [path for path in contents if contents[path] != contents_of(tree / path)]
    staged: dict[Path, Path] = {}
    try:
        for path in changed:
            target, data = tree / path, contents[path]
            if data is not None:
                target.parent.mkdir(parents=True, exist_ok=True)
                staged[target] = target.with_name(target.name + ".timershield-new")
                staged[target].write_bytes(data)
                if target.exists():
                    shutil.copymode(target, staged[target])
        for path in changed:
            if contents[path] is None:
                (tree / path).unlink()
        for target, new in staged.items():
            new.replace(target)
    finally:
        for new in staged.values():
            new.unlink(missing_ok=True)
    return changed


def git(tree: Path, *arguments: str, text: str | None = None) -> str:
    """Run git in ``tree`` and return what it prints."""
    done = subprocess.run(["git", "-C", str(tree), *arguments], input=text, capture_output=True,
                          text=True, check=False)
    if done.returncode:
        raise ToolError(f"git {arguments[0]} in {tree}: {done.stderr.strip()}")
    return done.stdout


def _require_clean(tree: Path) -> None:
    if not (tree / ".git").exists():
        raise ToolError(f"{tree} is not a git work tree")
    if git(tree, "status", "--porcelain", "--untracked-files=no"):
        raise ToolError(f"{tree} has changes that are not committed")


def apply(tree: Path, linux: str, check: bool = False, reverse: bool = False,
          commit: bool = False) -> None:
    """Put the new files and the patches on ``tree``, or take them off."""
    ours = texts(linux)
    if not reverse:
        with contextlib.suppress(ToolError):
            compute(tree, ours, reverse=True)
            print(f"{tree}: TimerShield is applied already; nothing to do")
            return
    contents = compute(tree, ours, reverse)
    print(f"Linux {linux_version(tree)}: {len(ours) - 1} patches and "
          f"{len(new_files())} new files {'can be taken off' if reverse else 'fit'}")
    if commit and not check:
        _require_clean(tree)
        git(tree, "tag", "-f", BASE)
        try:
            git(tree, "am", "-q", text="".join(list(mails(linux).values())[1:]))
        except BaseException:
            git(tree, "am", "--abort")
            raise
    elif not check:
        print(f"{len(write_all(tree, contents))} files changed")


def refresh(tree: Path, linux: str, base: str = BASE) -> None:
    """Write what the commits after ``base`` do to ``NEW_FILES`` and ``PATCHES``."""
    _require_clean(tree)
    if fixup := git(tree, "log", "-1", "--format=%s", "--grep=^\\(fixup\\|squash\\|amend\\)! ",
                    f"{base}.."):
        raise ToolError(f"{tree}: {fixup.strip()}: first git rebase -i --autosquash {base}")
    new = git(tree, "diff", "--no-renames", "--name-only", "--diff-filter=A", base, "HEAD").split()
    found: dict[str, bytes | None] = {path.name: None for path in patches(linux)}
    files: dict[str, bytes | None] = dict.fromkeys(new_files())
    files |= {path: git(tree, "show", f"HEAD:{path}").encode() for path in new}
    commits = git(tree, "log", "--reverse", "-p", "--no-renames", "--format=%x00%f%n%s%n%n%b",
                  f"{base}..", "--", ".", *(f":(exclude){path}" for path in new)).split("\0")[1:]
    for number, commit in enumerate(commits, 1):
        name, subject, text = commit.split("\n", 2)
        message, _, diff = text.partition("\ndiff --git ")
        diff = re.sub(r"^index .*\n", "", diff, flags=re.M)
        found[f"{number:04d}-{name[:52]}.patch"] = (
            f"Subject: {subject}\n\n{message.strip()}\n---\ndiff --git {diff}".encode())
    if not commits or not new:
        raise ToolError(f"{tree} has no patches or no new files after {base}")
    write_all(NEW_FILES, files)
    write_all(PATCHES / linux, found)
    print(f"{len(commits)} patches, {len(new)} new files")


def mails(linux: str, signoff: bool = False, step: int = 2) -> dict[str, str]:
    """File name -> mail: the cover letter, the new files, each patch.

    ``step``: 1 is the series of classes, which stands alone and has no cover letter yet.
    """
    name, address = (git(Path(), "config", "--default", "", key).strip()
                     for key in ("user.name", "user.email"))
    if signoff and not (name and address):
        raise ToolError("to sign off, first set user.name and user.email with git config")
    author = f"{name or 'TimerShield'} <{address or 'timershield@localhost'}>"
    ours = {name[5:]: text
            for name, text in (classes(linux) if step == 1 else texts(linux)).items()}
    if not ours:
        raise ToolError(f"there is no series of step {step} for Linux {linux}")
    subjects = "".join(f"  {text.splitlines()[0][9:]}\n" for text in ours.values())
    cover = ("Subject: TimerShield: timers rank with their tasks\n\n"
             f"{(PATCHES / 'cover-letter.txt').read_text()}\n{subjects}---\n")
    result = {}
    letter = {} if step == 1 else {"cover-letter.txt": cover}
    for number, (file, text) in enumerate({**letter, **ours}.items(), len(letter) == 0):
        subject, _, rest = text.removeprefix("Subject: ").partition("\n")
        if signoff and number:
            rest = rest.replace("\n---\n", f"\n\nSigned-off-by: {author}\n---\n", 1)
        result[f"{number:04d}-{file}"] = (
            "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n"
            f"From: {author}\nDate: Thu, 1 Jan 2026 00:00:00 +0000\n"
            f"Subject: [PATCH {number}/{len(ours)}] {subject}\n{rest}-- \n2.0\n\n")
    return result


def series(output: Path, linux: str, signoff: bool, step: int) -> None:
    """Write the mails."""
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise ToolError(f"{output} is there already and is not an empty directory")
    written = mails(linux, signoff, step)
    write_all(output, {name: text.encode() for name, text in written.items()})
    print(f"{len(written)} files in {output}; to apply them: git am {output}/*.patch")
    if not signoff:
        print("They lack Signed-off-by: lines, without which Linux takes no patch. --signoff adds "
              "yours and\ncertifies https://developercertificate.org.")


def _run(name: str, argv: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(prog=f"kernel/{name}", description=HELP[name],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    option = parser.add_argument
    if name == "series":
        option("--linux", choices=versions(), default=DEFAULT,
               help=f"for which version ({DEFAULT})")
        option("--step", type=int, choices=(1, 2), default=2,
               help="1: the series that masks the timers of ordinary tasks only (Linux 7.3); "
                    "2: the shield (default)")
        option("-s", "--signoff", action="store_true", help="add your Signed-off-by: lines")
        option("output", type=Path, help="an empty directory, or one to create")
        series(**vars(parser.parse_args(argv)))
        return
    option("tree", type=Path, help="the Linux tree")
    if name == "refresh":
        option("--base", default=BASE, help=f"the commit before the first of ours ({BASE})")
    else:
        option("--check", action="store_true", help="only say whether everything fits or comes off")
        way = parser.add_mutually_exclusive_group()
        way.add_argument("--git", action="store_true", dest="commit", help="commit each patch")
        way.add_argument("--reverse", action="store_true", help="take everything off again")
    arguments = parser.parse_args(argv)
    version = linux_version(arguments.tree)
    if series_of(version) not in versions():
        raise ToolError(f"{arguments.tree}: this is Linux {version}; there are patches for "
                        f"{' and '.join(versions())}")
    (apply if name == "apply" else refresh)(linux=series_of(version), **vars(arguments))


def main(name: str, argv: Sequence[str] | None = None) -> int:
    """Run a command; an error is one message and exit status 1."""
    try:
        _run(name, argv)
    except (ToolError, OSError) as error:
        print(f"kernel/{name}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[0]).name))
