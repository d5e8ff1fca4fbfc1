# SPDX-License-Identifier: GPL-2.0-or-later
"""A patch file: a message, a line "---", a diff.

::

    Subject: timershield: mask timers of lower-ranking tasks

    Why it is needed.

    ---
    diff --git a/kernel/time/hrtimer.c b/kernel/time/hrtimer.c
    …
"""

import re
from pathlib import Path

from kernel.tools.errors import ToolError

NEW_FILES_SUBJECT = "timershield: add new files"


def read(patch: Path) -> tuple[str, str]:
    """The message (subject line first) and the diff."""
    text = patch.read_text()
    start = re.search(r"^(?:---\n|diff --git |--- [^\n]+\n\+\+\+ )", text, re.MULTILINE)
    if start is None:
        raise ToolError(f"{patch.name}: there is no diff in it")
    diff = text[start.start() :].removeprefix("---\n")
    first = re.search(r"^(?:diff --git |--- )", diff, re.MULTILINE)
    header = text[: start.start()]
    subject = re.search(r"^Subject: (.*)$", header, re.MULTILINE)
    body = re.sub(r"^(?:Subject|From|Date): .*\n", "", header, flags=re.MULTILINE).strip("\n")
    title = subject[1] if subject else patch.stem
    title = re.sub(r"^\[[^]]*\] *", "", title)
    return f"{title}\n\n{body}\n" if body else f"{title}\n", diff[first.start() if first else 0 :]


def text(message: str, diff: str) -> str:
    """The contents of a patch file."""
    subject, _, body = message.partition("\n")
    body = body.strip("\n")
    return f"Subject: {subject}\n\n{body}{chr(10) if body else ''}---\n{diff}"


def name(number: int, message: str) -> str:
    """``0003-mask-timers.patch``"""
    subject = message.splitlines()[0]
    subject = re.sub(r"^[\w/]+: *", "", subject)
    slug = re.sub(r"[^a-z0-9]+", "-", subject.lower()).strip("-")[:52].rstrip("-")
    return f"{number:04d}-{slug}.patch"
