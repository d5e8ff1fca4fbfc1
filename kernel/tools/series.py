# SPDX-License-Identifier: GPL-2.0-or-later
"""kernel/series"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from kernel.tools import patch_file, patchset
from kernel.tools.errors import ToolError
from kernel.tools.patchset import Patchset

DESCRIPTION = """\
Write TimerShield as mails, 0000-cover-letter.txt and one for each patch with the new files that it
names, for "git am" on a tree of Linux. The tree builds after each.
"""
COVER = patchset.PATCHES / "cover-letter.txt"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kernel/series", description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--linux", choices=patchset.versions(), default=patchset.DEFAULT,
                        help=f"for which version ({patchset.DEFAULT})")
    parser.add_argument("output", type=Path, help="directory to write to; created if absent")
    return parser


def _mail(number: int, total: int, message: str, rest: str, author: str) -> str:
    subject, _, body = message.partition("\n")
    width = len(str(total))
    return (
        f"From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n"
        f"From: {author}\n"
        "Date: Thu, 1 Jan 2026 00:00:00 +0000\n"
        f"Subject: [PATCH {number:0{width}d}/{total}] {subject}\n"
        "MIME-Version: 1.0\n"
        "Content-Type: text/plain; charset=UTF-8\n"
        "Content-Transfer-Encoding: 8bit\n\n"
        f"{body.strip(chr(10))}\n---\n{rest}-- \n2.0\n\n"
    )


def _author() -> str:
    found = []
    for key in ("user.name", "user.email"):
        done = subprocess.run(["git", "config", key], capture_output=True, text=True,
                              check=False)
        found.append(done.stdout.strip())
    if all(found):
        return f"{found[0]} <{found[1]}>"
    return "TimerShield <timershield@localhost>"


def mails(patches: Patchset) -> dict[str, str]:
    """File name -> mail."""
    author = _author()
    patches.new_file_list()  # fails if one is missing
    changes = [patches.read(patch) for patch in patches.patch_list()]
    if not changes:
        raise ToolError("there are no patches")
    total = len(changes)
    subjects = "\n".join(f"  {m.splitlines()[0]}" for m, _ in changes)
    cover = f"TimerShield: timers rank with their tasks\n\n{COVER.read_text()}\n{subjects}\n"
    result = {"0000-cover-letter.txt": _mail(0, total, cover, "\n", author)}
    for number, (message, diff) in enumerate(changes, 1):
        result[patch_file.name(number, message)] = _mail(
            number, total, patch_file.without(message, patch_file.NEW_FILE), "\n" + diff, author)
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    arguments = _parser().parse_args(argv)
    try:
        output: Path = arguments.output
        if output.exists() and not output.is_dir():
            raise ToolError(f"{output} is no directory")
        if output.is_dir() and any(output.iterdir()):
            raise ToolError(f"{output} is not empty")
        written = mails(patchset.of(arguments.linux))
        for name, text in written.items():
            patchset.write_file(output / name, text.encode())
        print(f"{len(written)} files in {output}; on a Linux {arguments.linux} tree: "
              f"git am {output}/*.patch")
    except (ToolError, OSError) as error:
        print(f"kernel/series: {error}", file=sys.stderr)
        return 1
    return 0
