# SPDX-License-Identifier: GPL-2.0-or-later
"""A directory that looks enough like Linux 6.12, and a patch set for it."""

from pathlib import Path

from kernel.tools.patchset import Patchset

HRTIMER = "".join(f"int line_{i};\n" for i in range(40))
SCHED = "".join(f"int sched_{i};\n" for i in range(40))

FIRST = """\
Subject: timershield: change a line

Because.

New-file: lib/queue.c
---
diff --git a/kernel/time/hrtimer.c b/kernel/time/hrtimer.c
--- a/kernel/time/hrtimer.c
+++ b/kernel/time/hrtimer.c
@@ -10,7 +10,7 @@
 int line_9;
 int line_10;
 int line_11;
-int line_12;
+int line_12_patched;
 int line_13;
 int line_14;
 int line_15;
"""
SECOND = """\
Subject: timershield: change the scheduler

---
diff --git a/kernel/sched/core.c b/kernel/sched/core.c
--- a/kernel/sched/core.c
+++ b/kernel/sched/core.c
@@ -3,6 +3,7 @@
 int sched_2;
 int sched_3;
 int sched_4;
+int sched_hook;
 int sched_5;
 int sched_6;
 int sched_7;
"""


def make_tree(root: Path) -> Path:
    """A tree without TimerShield."""
    (root / "kernel/time").mkdir(parents=True)
    (root / "kernel/sched").mkdir()
    (root / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 7\n")
    (root / "kernel/time/hrtimer.c").write_text(HRTIMER)
    (root / "kernel/sched/core.c").write_text(SCHED)
    return root


def make_patchset(root: Path) -> Patchset:
    """Two patches, the first with a new file."""
    patches = Patchset(root / "src", root / "patches")
    patches.patches.mkdir(parents=True)
    (patches.new_files / "lib").mkdir(parents=True)
    (patches.new_files / "lib/queue.c").write_text("int queue;\n")
    (patches.patches / "0001-change-a-line.patch").write_text(FIRST)
    (patches.patches / "0002-change-the-scheduler.patch").write_text(SECOND)
    return patches


def snapshot(tree: Path) -> dict[str, bytes]:
    """Every file's contents, without git's own."""
    return {
        str(p.relative_to(tree)): p.read_bytes()
        for p in sorted(tree.rglob("*"))
        if p.is_file() and ".git" not in p.parts
    }
