# SPDX-License-Identifier: GPL-2.0-or-later
"""A directory that looks enough like Linux 6.12."""

from pathlib import Path

TEXT = "".join(f"int line_{i};\n" for i in range(40))


def make_tree(root: Path) -> Path:
    """A tree without TimerShield."""
    for path, text in {"Makefile": "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 7\n",
                       "kernel/time/hrtimer.c": TEXT, "kernel/sched/core.c": TEXT}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def snapshot(tree: Path) -> dict[str, bytes]:
    """Every file's contents, without git's own."""
    return {str(p.relative_to(tree)): p.read_bytes() for p in sorted(tree.rglob("*"))
            if p.is_file() and ".git" not in p.parts}
