# SPDX-License-Identifier: GPL-2.0-or-later
"""A directory that looks enough like Linux 6.12, and a patch set for it."""

from pathlib import Path

from kernel.tools.patchset import Patchset

HRTIMER = "".join(f"int line_{i};\n" for i in range(40))
SCHED = "".join(f"int sched_{i};\n" for i in range(40))


def _patch(subject: str, path: str, line: str, changed: str) -> str:
    text = SCHED if "sched" in path else HRTIMER
    lines = text.splitlines()
    at = lines.index(line)
    before, after = lines[at - 3:at], lines[at + 1:at + 4]
    body = [f" {x}" for x in before] + [f"-{line}", f"+{changed}"] + [f" {x}" for x in after]
    return (f"Subject: {subject}\n\nBecause.\n---\ndiff --git a/{path} b/{path}\n--- a/{path}\n"
            f"+++ b/{path}\n@@ -{at - 2},7 +{at - 2},7 @@ int {lines[at - 4][4:]}\n"
            + "\n".join(body) + "\n")


def make_tree(root: Path) -> Path:
    """A tree without TimerShield."""
    (root / "kernel/time").mkdir(parents=True)
    (root / "kernel/sched").mkdir()
    (root / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 7\n")
    (root / "kernel/time/hrtimer.c").write_text(HRTIMER)
    (root / "kernel/sched/core.c").write_text(SCHED)
    return root


def make_patchset(root: Path) -> Patchset:
    """A new file and two patches."""
    patches = Patchset(root / "src", root / "patches")
    patches.patches.mkdir(parents=True)
    (patches.new_files / "lib").mkdir(parents=True)
    (patches.new_files / "lib/queue.c").write_text("int queue;\n")
    for name, subject, path, line, changed in (
        ("0001-timer-change-a-line", "timer: change a line", "kernel/time/hrtimer.c",
         "int line_12;", "int line_12_patched;"),
        ("0002-sched-change-the-scheduler", "sched: change the scheduler", "kernel/sched/core.c",
         "int sched_5;", "int sched_hook;"),
    ):
        (patches.patches / f"{name}.patch").write_text(_patch(subject, path, line, changed))
    return patches


def snapshot(tree: Path) -> dict[str, bytes]:
    """Every file's contents, without git's own."""
    return {
        str(p.relative_to(tree)): p.read_bytes()
        for p in sorted(tree.rglob("*"))
        if p.is_file() and ".git" not in p.parts
    }
