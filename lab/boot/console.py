# SPDX-License-Identifier: GPL-2.0-or-later
"""What a kernel's console says that must not be there."""

import re

REPORT = re.compile(
    r"""
      \bWARNING:\ |\bBUG:\ |\bKernel\ panic|\bOops\b|\bKASAN:|\bUBSAN:|\bODEBUG:
    | \bINFO:\ (?:rcu|task|possible|inconsistent|trying\ to\ register|lockdep)
    | \brcu:.*(?:stall|starved)|\bkernel\ BUG\ at\b|---\[\ cut\ here\ \]---
    | possible\ (?:circular|recursive|irq)|inconsistent\ lock\ state
    | suspicious\ RCU\ usage|Invalid\ wait\ context|unable\ to\ handle
    | suspected\ memory\ leak
    | nobody\ cared|Disabling\ IRQ
    | sched:\ RT\ throttling\ activated|Unable\ to\ mount\ root|No\ working\ init
    """,
    re.VERBOSE,
)
"""Reports of a kernel that found something wrong with itself."""

HARMLESS = re.compile(
    r"WARNING: .*(?:deprecated|unmet)"
    r"|BUG: KCSAN: (?!.*(?:timershield|levels_|hrtimer_\w*(?:level|task)))")
"""Lines that only look like reports, and data races that Linux has without TimerShield."""


def reports(console: str) -> list[str]:
    """The lines of a console, or of a kernel's log, that report something wrong."""
    return [
        re.sub(r"^<\d+>", "", line)
        for line in console.splitlines()
        if REPORT.search(line) and not HARMLESS.search(line)
    ]


def tail(console: str, lines: int = 30) -> str:
    """The last lines, for an error message."""
    return "\n".join(f"    {line}" for line in console.splitlines()[-lines:])
