# SPDX-License-Identifier: GPL-2.0-or-later
"""The rank-cost experiment's cases, and its part of the report."""

from collections.abc import Sequence

from lab.experiments import compare
from lab.experiments import rank_samples as rank
from lab.experiments.base import Goal
from lab.experiments.rank_samples import Measure
from lab.report_page import Figure, Section, Table, Text, Verdict
from lab.results import Store
from lab.stats import Samples, percentile
from lab.systems import MODES

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
    "handover": tuple(
        (f"handover-{n}", f"{n} timers", (f"--count={n}", "--warmup=1"))
        for n in (0, 1, 8, 100, 400)),
}
PERCENTILES = (5, 50, 95, 99, 100)
HEAD = ["min", "p5", "p50", "p95", "p99", "max", "samples", "typical − stock's"]
WHAT = (
    "In the paper a timer has the priority of the task that armed it, for good, on one CPU. Here "
    "it ranks with those for whom it is (rule R4), follows their priorities (R5), and is handed to "
    "another CPU that may serve it (R6). A plugin of the emulator counts what that takes, in "
    "instructions of the kernel, on stock and shielded kernels and on the shielded one with the "
    "shield off. A guest program does each thing again and again, and marks its beginning and end "
    "by system calls without effect; functions count only between these. It has two CPUs; all but "
    "the hand-over happens on the first, while the other idles."
)
LIMITS = (
    "An instruction takes 0.1 to 1 ns on real machines. Not to be seen here: cache misses, of "
    "which walks over other tasks' timers have more than straight code; waiting for locks, as the "
    "CPUs take turns (the bounds of docs/hand-over.md say how long the lock of a busy CPU's queue "
    "may be held: 128 looks and 8 removals); what it costs to send and to take an interrupt."
)
CHANGES = (
    "__sched_setscheduler() makes a task SCHED_FIFO 20 (or SCHED_BATCH) and SCHED_OTHER again. All "
    "but the first two rows: the caller, SCHED_FIFO 90, changes a task that sleeps. A sleeper's "
    "timer is ranked anew by the call, with its priority, under the same locks. POSIX timers are "
    "too, all of the process, one after the other, with interrupts disabled: that grows with "
    "their number, which RLIMIT_SIGPENDING limits. (Where the highest-ranking thread is lowered, "
    "the process's other threads are looked at: the 50 waiting are such.) Who polls may wait for "
    "any number of timers: the call wakes it, by an interrupt to itself that is counted in, and it "
    "ranks them by itself afterwards; what that takes is in the 200 µs after the call, a sleep of "
    "the caller's, which count everything that the CPU's kernel does meanwhile (a tick, too, if "
    "one comes). With the shield off the levels of processes and their timers are kept all the "
    "same."
)
SETTLES = ("pause", "epoll", "epoll-100")
"""Where it is shown what follows: nothing, and what is left to the task."""
PARTS = (
    Measure("  in raising: who polls is woken", "wake", "rise"),
    Measure("  in raising: the process and its timers", "timers", "rise"),
    Measure("  in lowering: the process and its timers", "timers", "fall"),
    Measure("  afterwards: the set is walked", "walk", "job"),
)


def _cells(samples: Samples) -> list[str]:
    return [f"{samples.min():,.0f}", *(f"{percentile(samples, p):,.0f}" for p in PERCENTILES),
            f"{len(samples):,}"]


def _rows(store: Store, modes: dict[str, str], title: str, scenario: str,
          measure: Measure) -> list[list[str]]:
    found = []
    word = measure.word
    for mode in MODES:
        system = modes.get(mode, "")
        if not system or not store.has(system, scenario):
            continue
        samples = rank.samples(store, system, scenario, measure)
        if not len(samples):
            continue
        more = ""
        stock = modes.get("stock", "")
        if mode != "stock" and stock and store.has(stock, scenario):
            difference = rank.added(store, stock, system, scenario, measure)
            more = "" if difference is None else f"{difference:+,.0f}"
        found.append([title, word, mode, *_cells(samples), more])
        title = word = ""
    return found


def _parts(store: Store, modes: dict[str, str], scenario: str) -> list[list[str]]:
    """What only the shielded kernel does, apart."""
    system = modes.get("shielded", "")
    if not system or not store.has(system, scenario):
        return []
    found = []
    for part in PARTS:
        samples = rank.samples(store, system, scenario, part)
        if len(samples):
            found.append(["", part.word, "shielded", *_cells(samples), ""])
    return found


def _table(store: Store, modes: dict[str, str], action: str, head: list[str],
           measures: Sequence[Measure], caption: str) -> list[Table]:
    found = []
    for scenario, title, _ in SETS[action]:
        lines = [row for m in measures
                 if m is not rank.SETTLING or scenario in SETTLES
                 for row in _rows(store, modes, title, scenario, m)]
        if action == "policy" and lines:
            lines += _parts(store, modes, scenario)
        for i, line in enumerate(lines):
            if i:
                line[0] = ""
        found += lines
    return [Table([*head, "kernel", *HEAD], found, caption, text_columns=3)] if found else []


def _busy_row(store: Store, system: str, scenario: str, mode: str, title: str) -> list[str]:
    jobs = rank.samples(store, system, scenario, rank.JOB)
    interrupts = rank.per_job(store, system, scenario, rank.INTERRUPTS)
    count = int(store.summary(system, scenario)["count"])
    row = [title, mode, f"{interrupts:.2f}", f"{percentile(jobs, 50):,.0f}", f"{jobs.max():,}"]
    each = ""
    if count and store.has(system, "handover-0"):
        idle = rank.samples(store, system, "handover-0", rank.JOB)
        if len(idle):
            each = f"{(percentile(jobs, 50) - percentile(idle, 50)) / count:+,.0f}"
    return [*row, each]


def _shielded_cells(store: Store, system: str, scenario: str) -> list[str]:
    """What offering and taking cost, in all and each."""
    summary = store.summary(system, scenario)
    offers = rank.samples(store, system, scenario, rank.OFFER)
    sums = rank.each_job(store, system, scenario, rank.OFFER)
    takes = rank.taking(store, system, scenario)
    taken = summary["taken"]
    if not len(offers):
        return ["", "", "", "", ""]
    return [
        f"{percentile(sums, 50):,.0f}", f"{offers.max():,}",
        f"{takes.max():,}" if len(takes) else "",
        f"{takes.sum() / taken:,.0f}" if taken else "",
        f"{taken / summary['repeats']:,.1f}",
    ]


def _handover(store: Store, modes: dict[str, str]) -> list[Table]:
    found = []
    for scenario, title, _ in SETS["handover"]:
        for mode in MODES:
            system = modes.get(mode, "")
            if not system or not store.has(system, scenario):
                continue
            if not len(rank.samples(store, system, scenario, rank.JOB)):
                continue
            row = _busy_row(store, system, scenario, mode, title)
            row += (_shielded_cells(store, system, scenario) if mode == "shielded"
                    else [""] * 5)
            found.append(row)
            title = ""
    if not found:
        return []
    return [Table(
        ["timers", "kernel", "timer interrupts in the job", "job p50", "job max",
         "each timer", "offering, a job p50", "one offer max", "one take max",
         "taking, each timer", "taken, a job"], found,
        "Instructions. A job keeps the first CPU busy at SCHED_FIFO 90 for 20 ms; 3 ms after its "
        "begin the timers of as many SCHED_FIFO 50 tasks expire, 10 µs apart, which may run on the "
        "second CPU, too. What the kernel executes on the first CPU in the job: ticks, a call "
        "that raises its priority, and what timers cause; each timer: the median job less that "
        "without timers, divided by their number. One offer and one take: a call of "
        "hrtimer_shield_offer() on the busy CPU and of hrtimer_shield_take() on the other. "
        "A stock kernel, and the shield when it is off, wakes the tasks from interrupts of the "
        "busy CPU. Ticks differ by a thousand instructions or so: what few timers take is less.",
        text_columns=2)]


def _figure(store: Store, platform: str, modes: dict[str, str]) -> list[Figure]:
    def case(scenario: str, measure: Measure, word: str) -> compare.Case:
        return word, scenario, lambda system: rank.samples(store, system, scenario, measure)

    return compare.candlesticks(
        store, modes, MODES, (
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


def section(title: str, anchor: str, store: Store, goals: Sequence[Goal]) -> Section:
    """Candlesticks and tables of every platform."""
    result = Section(title, anchor)
    result.verdicts = [Verdict(g.claim, g.found, g.met) for g in goals]
    result.parts += [Text(WHAT), Text(LIMITS)]
    for platform, modes in compare.platforms(store).items():
        result.parts.append(Text(platform, heading=True))
        result.parts += _figure(store, platform, modes)
        result.parts += _table(store, modes, "policy", ["whose priority", ""],
                               (rank.RAISED, rank.LOWERED, rank.SETTLING), CHANGES)
        result.parts += _table(
            store, modes, "inherit", ["inheritance", ""], (rank.BOOST, rank.DEBOOST),
            "rt_mutex_setprio() when a SCHED_FIFO 90 task begins to wait by FUTEX_LOCK_PI for a "
            "lock that a sleeping SCHED_FIFO 10 task holds, and when it gives up.")
        result.parts += _table(
            store, modes, "arm", ["who waits, SCHED_FIFO 80", ""], (rank.ARM,),
            "The whole system call timerfd_settime(), by an ordinary task. Who waits is looked at "
            "with the shield off, too.")
        result.parts += _handover(store, modes)
    return result
