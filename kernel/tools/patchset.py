#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel part; kernel/apply, kernel/refresh and kernel/series are links to this file.

TimerShield is two series, classes and, for some versions, levels. Of each, the new files of
``kernel/src`` are copied to the same paths of a Linux tree, and the patches of
``kernel/patches/VERSION/SERIES`` apply after that, in the order of their names: a line
``Subject: …``, a message, ``---``, a diff.
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
SERIES = ("classes", "levels")
"""The second applies on top of the first, which stands alone."""
LEVELS = ("Documentation/timers/timershield-levels.rst", "include/linux/timershield_types.h",
          "kernel/time/timershield_levels.h", "kernel/time/timershield_minima.h")
"""The new files of the second; the first has all others."""
DEFAULT = "6.12"
"""The version of Linux that is meant where none is named."""
BASE = "timershield-base"
NEW = """Subject: timershield: add the new files of {}

Nothing compiles them yet. The patches that follow put them to use.
---
"""
HELP = {"apply": f"""\
Put the new files of kernel/src and the patches of kernel/patches/VERSION on a Linux tree. If
something does not fit, it is named, and the tree stays as it was. With --git the new files become a
commit, and each patch another one; the tag {BASE} marks the commit before them. Change,
amend, reorder or add commits there, then run kernel/refresh.
""", "refresh": f"""\
Write the commits of a tree prepared by "kernel/apply --git" back. The commits after {BASE}
that add files, called "{NEW.format("…").splitlines()[0][9:]}", go to kernel/src, each other one
becomes a patch in kernel/patches/VERSION. Amend the former to change a new file.
""", "series": """\
Write one of the two series of TimerShield as mails for "git am" or "git send-email": a cover
letter, one mail with the new files, and one for each patch. The tree builds after each. The second
series applies on top of the first.
"""}


class ToolError(Exception):
    """Something the user can act on; a command prints it without a traceback."""


def series_for(linux: str) -> list[str]:
    """Those that a version of Linux has."""
    return [name for name in SERIES if (PATCHES / linux / name).is_dir()]


def new_files(*series: str) -> list[str]:
    """Those of the series, or of all; relative to a Linux tree."""
    found = sorted(str(p.relative_to(NEW_FILES)) for p in NEW_FILES.rglob("*") if p.is_file())
    return [path for path in found if SERIES[path in LEVELS] in (series or SERIES)]


def patches(linux: str, *series: str) -> list[Path]:
    """Those of a version of Linux, in the order in which they apply."""
    return [p for name in series or SERIES
            for p in sorted((PATCHES / linux / name).glob("*.patch"))]


def _new_files(series: str) -> str:
    new = NEW.format(series)
    for path in new_files(series):
        lines = (NEW_FILES / path).read_text().splitlines(keepends=True)
        new += (f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n"
                f"+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n+{'+'.join(lines)}")
    return new


def texts(linux: str, *more: Path, series: Sequence[str] = ()) -> dict[str, str]:
    """Name -> text of each patch of a version, then ``more`` diffs; of each series the new files
    are the first."""
    found = {}
    for name in series or series_for(linux):
        if new_files(name):
            found[f"{name}/0000-new-files.patch"] = _new_files(name)
        found |= {f"{name}/{p.name}": p.read_text() for p in patches(linux, name)}
    return found | {p.name: p.read_text() for p in more}


def paths(series: Mapping[str, str]) -> list[str]:
    """The files that any of the patches changes or adds, relative to a Linux tree."""
    return sorted(set(re.findall(r"^\+\+\+ b/(\S+)", "".join(series.values()), re.M)))


def versions() -> list[str]:
    """The versions of Linux that there are patches for."""
    return sorted(p.name for p in PATCHES.iterdir() if p.is_dir())


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
    added = new_files(*series_for(linux))
    print(f"Linux {linux_version(tree)}: {len(patches(linux))} patches and "
          f"{len(added)} new files {'can be taken off' if reverse else 'fit'}")
    if commit and not check:
        _require_clean(tree)
        git(tree, "tag", "-f", BASE)
        try:
            git(tree, "am", "-q", text="".join(
                mail for name in series_for(linux)
                for mail in list(mails(linux, name).values())[1:]))
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
    found: dict[str, bytes | None] = {str(path.relative_to(PATCHES / linux)): None
                                      for path in patches(linux)}
    files: dict[str, bytes | None] = dict.fromkeys(new_files(*series_for(linux)))
    commits = git(tree, "log", "--reverse", "-p", "--no-renames", "--format=%x00%H %f%n%s%n%n%b",
                  f"{base}..").split("\0")[1:]
    series, number = "", 0
    for commit in commits:
        name, subject, text = commit.split("\n", 2)
        commit_id, name = name.split()
        message, _, diff = text.partition("\ndiff --git ")
        if begun := [s for s in SERIES if NEW.format(s).startswith(f"Subject: {subject}\n")]:
            series, number = begun[0], 0
            files |= {path: git(tree, "show", f"{commit_id}:{path}").encode()
                      for path in re.findall(r"^\+\+\+ b/(\S+)", text, re.M)}
            continue
        if not series:
            raise ToolError(f"{tree}: '{subject}' is before the commit that adds the new files")
        number += 1
        diff = re.sub(r"^index .*\n", "", diff, flags=re.M)
        found[f"{series}/{number:04d}-{name[:52]}.patch"] = (
            f"Subject: {subject}\n\n{message.strip()}\n---\ndiff --git {diff}".encode())
    if not series:
        raise ToolError(f"{tree} has no commit after {base} that adds new files")
    write_all(NEW_FILES, files)
    write_all(PATCHES / linux, found)
    print(f"{sum(data is not None for data in found.values())} patches, "
          f"{sum(data is not None for data in files.values())} new files")


def mails(linux: str, series: str, signoff: bool = False) -> dict[str, str]:
    """File name -> mail: the cover letter, the new files, each patch."""
    name, address = (git(Path(), "config", "--default", "", key).strip()
                     for key in ("user.name", "user.email"))
    if signoff and not (name and address):
        raise ToolError("to sign off, first set user.name and user.email with git config")
    author = f"{name or 'TimerShield'} <{address or 'timershield@localhost'}>"
    ours = {Path(name).name[5:]: text for name, text in texts(linux, series=[series]).items()}
    subjects = "".join(f"  {text.splitlines()[0][9:]}\n" for text in ours.values())
    cover = f"{(PATCHES / f'{series}.txt').read_text()}\n{subjects}---\n"
    result = {}
    for number, (file, text) in enumerate({"cover-letter.txt": cover, **ours}.items()):
        subject, _, rest = text.removeprefix("Subject: ").partition("\n")
        if signoff and number:
            rest = rest.replace("\n---\n", f"\n\nSigned-off-by: {author}\n---\n", 1)
        result[f"{number:04d}-{file}"] = (
            "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n"
            f"From: {author}\nDate: Thu, 1 Jan 2026 00:00:00 +0000\n"
            f"Subject: [PATCH {number}/{len(ours)}] {subject}\n{rest}-- \n2.0\n\n")
    return result


def write_series(output: Path, linux: str, signoff: bool, step: int) -> None:
    """Write the mails."""
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise ToolError(f"{output} is there already and is not an empty directory")
    if (series := SERIES[step - 1]) not in series_for(linux):
        raise ToolError(f"step {step} is not for Linux {linux}")
    written = mails(linux, series, signoff)
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
        option("--step", type=int, choices=(1, 2), default=1,
               help="1: the series that masks the timers of ordinary tasks (default); "
                    "2: that on top of it, which masks those of real-time tasks, too")
        option("-s", "--signoff", action="store_true", help="add your Signed-off-by: lines")
        option("output", type=Path, help="an empty directory, or one to create")
        write_series(**vars(parser.parse_args(argv)))
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
