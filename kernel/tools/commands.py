#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""kernel/apply, kernel/refresh and kernel/series, which are links to this file"""

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from kernel.tools import patchset
from kernel.tools.errors import ToolError
from kernel.tools.patchset import Patchset

BASE = "timershield-base"
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


def apply(tree: Path, patches: Patchset, check: bool = False, reverse: bool = False,
          commit: bool = False) -> None:
    """Put the patch set on ``tree``, or take it off."""
    try:
        contents = patchset.compute(tree, patches, reverse)
    except ToolError as error:
        try:
            patchset.compute(tree, patches, reverse=True)
        except ToolError:
            raise error from None
        print(f"{tree}: TimerShield is applied already; nothing to do")
        return
    print(f"Linux {patchset.linux_version(tree)}: {len(patches.patch_list())} patches and "
          f"{len(patches.new_file_list())} new files {'can be taken off' if reverse else 'fit'}")
    if commit and not check:
        _require_clean(tree)
        git(tree, "tag", "-f", BASE)
        try:
            git(tree, "am", "-q", text="".join(list(mails(patches).values())[1:]))
        except BaseException:
            git(tree, "am", "--abort")
            raise
    elif not check:
        print(f"{len(patchset.write_all(tree, contents))} files changed")


def refresh(tree: Path, patches: Patchset, base: str) -> None:
    """Write what the commits after ``base`` do to where ``patches`` are."""
    _require_clean(tree)
    if fixup := git(tree, "log", "-1", "--format=%s", "--grep=^\\(fixup\\|squash\\|amend\\)! ",
                    f"{base}.."):
        raise ToolError(f"{tree}: {fixup.strip()}: first git rebase -i --autosquash {base}")
    new = git(tree, "diff", "--no-renames", "--name-only", "--diff-filter=A", base, "HEAD").split()
    found: dict[str, bytes | None] = {path.name: None for path in patches.patch_list()}
    files: dict[str, bytes | None] = dict.fromkeys(patches.new_file_list())
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
    patchset.write_all(patches.new_files, files)
    patchset.write_all(patches.patches, found)
    print(f"{len(commits)} patches, {len(new)} new files")


def mails(patches: Patchset, signoff: bool = False) -> dict[str, str]:
    """File name -> mail: the cover letter, the new files, each patch."""
    name, address = (
        subprocess.run(["git", "config", key], stdout=subprocess.PIPE, text=True,
                       check=False).stdout.strip() for key in ("user.name", "user.email"))
    if signoff and not (name and address):
        raise ToolError("to sign off, first set user.name and user.email with git config")
    author = f"{name or 'TimerShield'} <{address or 'timershield@localhost'}>"
    texts = {name[5:]: text for name, text in patches.texts().items()}
    subjects = "".join(f"  {text.splitlines()[0][9:]}\n" for text in texts.values())
    cover = ("Subject: TimerShield: timers rank with their tasks\n\n"
             f"{(patchset.PATCHES / 'cover-letter.txt').read_text()}\n{subjects}---\n")
    result = {}
    for number, (file, text) in enumerate({"cover-letter.txt": cover, **texts}.items()):
        subject, _, rest = text.removeprefix("Subject: ").partition("\n")
        if signoff and number:
            rest = rest.replace("\n---\n", f"\n\nSigned-off-by: {author}\n---\n", 1)
        result[f"{number:04d}-{file}"] = (
            "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n"
            f"From: {author}\nDate: Thu, 1 Jan 2026 00:00:00 +0000\n"
            f"Subject: [PATCH {number}/{len(texts)}] {subject}\n{rest}-- \n2.0\n\n")
    return result


def series(output: Path, linux: str, signoff: bool) -> None:
    """Write the mails."""
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise ToolError(f"{output} is there already and is not an empty directory")
    written = mails(patchset.of(linux), signoff)
    patchset.write_all(output, {name: text.encode() for name, text in written.items()})
    print(f"{len(written)} files in {output}; to apply them: git am {output}/*.patch")
    if not signoff:
        print("They lack Signed-off-by: lines, without which Linux takes no patch. --signoff adds "
              "yours and\ncertifies https://developercertificate.org.")


def _run(name: str, argv: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser(prog=f"kernel/{name}", description=HELP[name],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    option = parser.add_argument
    if name == "series":
        option("--linux", choices=patchset.versions(), default=patchset.DEFAULT,
               help=f"for which version ({patchset.DEFAULT})")
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
    version = patchset.linux_version(arguments.tree)
    if patchset.series_of(version) not in patchset.versions():
        raise ToolError(f"{arguments.tree}: this is Linux {version}; there are patches for "
                        f"{' and '.join(patchset.versions())}")
    patches = patchset.of(patchset.series_of(version))
    (apply if name == "apply" else refresh)(patches=patches, **vars(arguments))


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
