# SPDX-License-Identifier: GPL-2.0-or-later
"""A patch file: a message, a line "---", a diff. It may have new files instead of a diff.

::

    Subject: timershield: mask timers of lower-ranking tasks

    Why it is needed.

    New-file: kernel/time/timershield.c
    ---
    diff --git a/kernel/time/hrtimer.c b/kernel/time/hrtimer.c
    …
"""

import re
from pathlib import Path

from kernel.tools.errors import ToolError

NEW_FILE = "New-file: "
"""In the message of a patch, and of its commit: a file of kernel/src that it adds."""


def read(patch: Path) -> tuple[str, str]:
    """The message (subject line first) and the diff."""
    head, line, diff = patch.read_text().partition("\n---\n")
    if not line or not head.startswith("Subject: "):
        raise ToolError(f"{patch.name} must begin with 'Subject: ' and have a line '---'")
    return head.removeprefix("Subject: ").rstrip() + "\n", diff


def text(message: str, diff: str) -> str:
    """The contents of a patch file."""
    subject, _, body = message.partition("\n")
    body = body.strip("\n")
    return f"Subject: {subject}\n\n{body}{chr(10) if body else ''}---\n{diff}"


def new_files(message: str) -> list[str]:
    """The new files that the message of a patch names."""
    return re.findall(rf"^{NEW_FILE}(.*)$", message, re.MULTILINE)


def without(message: str, *trailers: str) -> str:
    """A message less the lines that begin with one of ``trailers``."""
    lines = [line for line in message.split("\n") if not line.startswith(trailers)]
    return "\n".join(lines).rstrip() + "\n"


def new_file_diff(path: str, data: bytes) -> str:
    """The diff that adds a file."""
    if not data.endswith(b"\n"):
        raise ToolError(f"{path}: the last line does not end")
    lines = data.decode().split("\n")[:-1]
    return (f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
            f"@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines))


def name(number: int, message: str) -> str:
    """``0003-mask-timers.patch``"""
    subject = message.splitlines()[0]
    subject = re.sub(r"^[\w/]+: *", "", subject)
    slug = re.sub(r"[^a-z0-9]+", "-", subject.lower()).strip("-")[:52].rstrip("-")
    return f"{number:04d}-{slug}.patch"
