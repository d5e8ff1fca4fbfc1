# SPDX-License-Identifier: GPL-2.0-or-later
"""What a figure was measured of, as a hash: comments aside, it changes with every line of that."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from lab.kernels.kernels import DEFAULT_LINUX
from lab.paths import REPO

SHIELD = ("kernel/src", "kernel/patches/{linux}", "kernel/configs")
MODULE = ("kernel/module",)
"""Besides, where Debian's kernels are measured."""
CODE = (".c", ".h", ".S", ".rs", ".cc")
TEXT = (".md", ".rst", ".txt", ".1", ".3", ".8")
COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|/\*.*?\*/|//[^\n]*', re.DOTALL)


def linux_of(place: str) -> str:
    """The version of a place such as ``7.3/x86_64-preempt``."""
    found = re.match(r"(?:debian\d+/)?(\d+\.\d+)", place)
    return found[1] if found else DEFAULT_LINUX


def digest(of: Iterable[str], place: str, root: Path = REPO) -> str:
    """Of the files and folders ``of``, as far as they are there, for what runs at ``place``."""
    result = hashlib.sha256()
    for name in (*of, *(MODULE if place.startswith("debian") and SHIELD[0] in of else ())):
        top = root / name.format(linux=linux_of(place))
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and path.suffix not in TEXT:
                text = "\n".join(stripped(path.name, path.read_text()))
                result.update(f"{path.relative_to(root)}\0{text}\0".encode())
    return result.hexdigest()[:16]


def stripped(name: str, text: str) -> list[str]:
    """The lines of a file that count; of a patch those that it adds and removes."""
    suffix = Path(name).suffix
    lines = list(_changes(text)) if suffix == ".patch" else _code(name, text)
    return [" ".join(line.split()) for line in lines if line.strip()]


def _code(name: str, text: str) -> list[str]:
    if Path(name).suffix in CODE:
        return COMMENT.sub(lambda m: m[1] or " ", text).split("\n")
    return [line for line in text.split("\n") if not re.match(r"\s*#(?! CONFIG_)", line)]


def _changes(text: str) -> Iterator[str]:
    """What a patch does to each file that is no text."""
    for part in re.split(r"^(?=diff --git )", text, flags=re.MULTILINE)[1:]:
        name = part.split("\n", 1)[0].rpartition(" b/")[2]
        if Path(name).suffix in TEXT or name == "MAINTAINERS":
            continue
        yield name
        for sign in "-+":
            kept = "\n".join(line[1:] for line in part.split("\n")
                             if line.startswith(sign) and not line.startswith(sign * 3))
            for line in _code(name, kept):
                # one of a comment that does not begin in the patch
                if not re.match(r"\s*\*(\s|/|$)", line):
                    yield sign + line if line.strip() else ""
