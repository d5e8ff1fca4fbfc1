# SPDX-License-Identifier: GPL-2.0-or-later
"""Which lines of a console count as reports of the kernel."""

import pytest

from lab.boot import console


@pytest.mark.parametrize("line", [
    "[    1.0] WARNING: CPU: 0 PID: 1 at kernel/time/hrtimer.c:1 x+0x1/0x2",
    "[    1.0] BUG: sleeping function called from invalid context at x.c:1",
    "[    1.0] BUG: KASAN: slab-use-after-free in x+0x1/0x2",
    "[    1.0] Kernel panic - not syncing: Attempted to kill init!",
    "[    1.0] rcu: INFO: rcu_preempt self-detected stall on CPU",
    "[    1.0] WARNING: possible circular locking dependency detected",
    "[    1.0] ODEBUG: activate active (active state 0) object: 1 object type: hrtimer",
    "[    1.0] INFO: task init:1 blocked for more than 120 seconds.",
    "[    1.0] ------------[ cut here ]------------".replace("------------[", "---["),
    "[    1.0] UBSAN: shift-out-of-bounds in x.c:1:2",
    "[    1.0] sched: RT throttling activated",
    "[    1.0] BUG: unable to handle page fault for address: 0",
    "[    1.0] BUG: KCSAN: data-race in rb_erase / levels_del+0x1/0x2",
    "[    1.0] BUG: KCSAN: data-race in clear [timershield] / tick_sched_timer",
])
def test_reports_are_found(line: str) -> None:
    assert console.reports(f"fine\n{line}\nfine\n") == [line]


def test_real_cut_here_line_is_found() -> None:
    assert console.reports("[    1.0] ------------[ cut here ]------------\n")


@pytest.mark.parametrize("line", [
    "[    1.0] hrtimer: interrupt took 3990 ns",
    "[    1.0] reboot: Restarting system",
    "[    0.0] rcu: Preemptible hierarchical RCU implementation.",
    "[    0.4] APIC timer disabled due to verification failure",
    "[    1.0] BUG: KCSAN: data-race in tick_nohz_idle_stop_tick / tick_sched_timer",
])
def test_harmless_lines_are_not(line: str) -> None:
    assert console.reports(line) == []
