# SPDX-License-Identifier: GPL-2.0-or-later
"""The rank-cost experiment's cases, and its part of the report."""

from collections.abc import Sequence

from experiments import compare
from experiments.rank import samples as rank
from experiments.rank.samples import Measure
from lab.measure.results import Store
from lab.measure.systems import MODES
from lab.report.page import Figure, Part, Table, Text
from lab.report.stats import Samples, percentile

SETS: dict[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    "none": (("marks", "nothing", ()),),
    "policy": (
        ("self", "the running task itself", ("--who=self",)),
        ("self-50", "the running task itself, 50 timers waiting", ("--who=self", "--sleepers=50")),
        ("pause", "a sleeper without a timer", ("--who=pause",)),
        ("nanosleep", "a sleeper in nanosleep()", ("--who=nanosleep",)),
        ("nanosleep-50", "a sleeper in nanosleep(), 50 timers waiting",
         ("--who=nanosleep", "--sleepers=50")),
        ("batch", "a sleeper in nanosleep(), SCHED_BATCH: the same level",
         ("--who=nanosleep", "--to=batch")),
        ("epoll", "a sleeper in epoll_wait(), 1 timerfd", ("--who=epoll",)),
        ("epoll-100", "a sleeper in epoll_wait(), 100 timerfds", ("--who=epoll", "--count=100")),
        ("timers-1", "a process with 1 POSIX timer", ("--who=timers",)),
        ("timers-100", "a process with 100 POSIX timers", ("--who=timers", "--count=100")),
        ("timers-100-batch", "100 POSIX timers, SCHED_BATCH: the same level",
         ("--who=timers", "--count=100", "--to=batch")),
    ),
    "inherit": (
        ("inherit-pause", "the holder sleeps without a timer", ("--who=pause",)),
        ("inherit-nanosleep", "the holder is in nanosleep()", ("--who=nanosleep",)),
    ),
    "arm": (
        ("arm-none", "nobody", ()),
        ("arm-read", "one in read()", ("--who=read",)),
        ("arm-poll", "one in poll()", ("--who=poll",)),
        ("arm-epoll", "one in epoll_wait()", ("--who=epoll",)),
        ("arm-epoll-10", "ten in epoll_wait(), each a set of its own",
         ("--who=epoll", "--count=10")),
        ("arm-nested", "one by a set in a set", ("--who=nested",)),
    ),
}
PERCENTILES = (5, 50, 95, 99, 100)
HEAD = ["min", "p5", "p50", "p95", "p99", "max", "samples", "typical − stock's"]
WHAT = (
    "In the paper a timer has the priority of the task that armed it, for good, on one CPU. Here "
    "it ranks with those for whom it is and follows a sleeper's priority. A plugin "
    "of the emulator counts what that takes, in instructions of the kernel, on stock and shielded "
    "kernels and on the shielded one with the shield off. A guest program does each thing again "
    "and again, and marks its beginning and end by system calls without effect; functions count "
    "only between these. It has two CPUs; all happens on the first, while the other idles."
)
LIMITS = (
    "An instruction takes 0.1 to 1 ns on real machines. Not to be seen here: cache misses, of "
    "which walks over other tasks' timers have more than straight code; waiting for locks, as the "
    "CPUs take turns; what it costs to send and to take an interrupt."
)
CHANGES = (
    "__sched_setscheduler() makes a task SCHED_FIFO 20 (or SCHED_BATCH) and SCHED_OTHER again. All "
    "but the first two rows: the caller, SCHED_FIFO 90, changes a task that sleeps. A sleeper's "
    "timer is ranked anew by the call, with its priority, under the same locks; other timers keep "
    "the level that they were armed with. What follows is the 200 µs after the call, a sleep of "
    "the caller's, which count everything that the CPU's kernel does meanwhile (a tick, too, if "
    "one comes)."
)
SETTLES = ("pause", "epoll", "epoll-100")
"""Where it is shown what follows: nothing, and what is left to the task."""
PARTS = (
    Measure("  in raising: its timer follows", "follow", "rise"),
    Measure("  in lowering: its timer follows", "follow", "fall"),
)


def _cells(samples: Samples) -> list[str]:
    return [f"{samples.min():,.0f}", *(f"{percentile(samples, p):,.0f}" for p in PERCENTILES),
            f"{len(samples):,}"]


def _rows(modes: compare.Modes, title: str, scenario: str,
          measure: Measure) -> list[list[str]]:
    found = []
    word = measure.word
    for mode, system in compare.having(modes, scenario, MODES):
        samples = rank.samples(system, scenario, measure)
        if not len(samples):
            continue
        more = ""
        stock = modes.get("stock")
        if mode != "stock" and stock and stock.has(scenario):
            difference = rank.added(stock, system, scenario, measure)
            more = "" if difference is None else f"{difference:+,.0f}"
        found.append([title, word, mode, *_cells(samples), more])
        title = word = ""
    return found


def _parts(modes: compare.Modes, scenario: str) -> list[list[str]]:
    """What only the shielded kernel does, apart."""
    system = modes.get("shielded")
    if not system or not system.has(scenario):
        return []
    found = []
    for part in PARTS:
        samples = rank.samples(system, scenario, part)
        if len(samples):
            found.append(["", part.word, "shielded", *_cells(samples), ""])
    return found


def _table(modes: compare.Modes, action: str, head: list[str],
           measures: Sequence[Measure], caption: str) -> list[Table]:
    found = []
    for scenario, title, _ in SETS[action]:
        lines = [row for m in measures
                 if m is not rank.SETTLING or scenario in SETTLES
                 for row in _rows(modes, title, scenario, m)]
        if action == "policy" and lines:
            lines += _parts(modes, scenario)
        for i, line in enumerate(lines):
            if i:
                line[0] = ""
        found += lines
    return [Table([*head, "kernel", *HEAD], found, caption, text_columns=3)] if found else []


def _figure(platform: str, modes: compare.Modes) -> list[Figure]:
    def case(scenario: str, measure: Measure, word: str) -> compare.Case:
        return word, scenario, lambda system: rank.samples(system, scenario, measure)

    return compare.candlesticks(
        modes, MODES, (
            case("self", rank.RAISED, "itself"),
            case("pause", rank.RAISED, "sleeper,\nno timer"),
            case("nanosleep", rank.RAISED, "in nano-\nsleep()"),
            case("epoll", rank.RAISED, "in epoll_\nwait()"),
            case("timers-100", rank.RAISED, "100 POSIX\ntimers"),
            case("inherit-nanosleep", rank.BOOST, "boost"),
            case("inherit-nanosleep", rank.DEBOOST, "deboost"),
            case("arm-none", rank.ARM, "arming,\nno waiter"),
            case("arm-read", rank.ARM, "arming,\nread()"),
            case("arm-epoll", rank.ARM, "arming,\nepoll_wait()"),
        ),
        "instructions", f"rank-{platform}",
        f"{platform}: raising a priority, inheriting one, arming a timerfd; minimum, 5th, 50th, "
        "95th percentile, maximum; at least {least} samples each.")


def _shown(platform: str, modes: compare.Modes) -> list[Part]:
    return [
        *_figure(platform, modes),
        *_table(modes, "policy", ["whose priority", ""],
                (rank.RAISED, rank.LOWERED, rank.SETTLING), CHANGES),
        *_table(
            modes, "inherit", ["inheritance", ""], (rank.BOOST, rank.DEBOOST),
            "rt_mutex_setprio() when a SCHED_FIFO 90 task begins to wait by FUTEX_LOCK_PI for a "
            "lock that a sleeping SCHED_FIFO 10 task holds, and when it gives up."),
        *_table(
            modes, "arm", ["who waits, SCHED_FIFO 80", ""], (rank.ARM,),
            "The whole system call timerfd_settime(), by an ordinary task."),
    ]


def parts(store: Store) -> list[Part]:
    """Candlesticks and tables of every platform."""
    return [Text(WHAT), Text(LIMITS), *compare.by_platform(store, _shown)]
