# SPDX-License-Identifier: GPL-2.0-or-later
"""What it costs that timers follow who they are for: priority changes, inheritance, arming for
others.

Context switches and arming for oneself are experiments of their own.
"""

from experiments import base, compare
from experiments.base import Context, Scenario
from experiments.rank import samples
from experiments.rank.samples import ARM, BOOST, DEBOOST, LOWERED, RAISED, Measure, added
from experiments.rank.section import SETS, parts
from lab.measure import spans
from lab.measure.results import Measured, Store
from lab.measure.spans import Span
from lab.measure.systems import Mode
from lab.report.claims import Claim, Goal
from lab.report.page import Part

PROGRAM = "rank"
CPUS = 2
CALL = r"__(x64|arm64)_sys_"
END = f"{CALL}getpgid"
SPANS = (
    Span("rise", f"{CALL}getppid", until=END),
    Span("fall", f"{CALL}getsid", until=END),
    Span("job", f"{CALL}getegid", until=END, through=spans.INTERRUPTS),
    Span("policy", "__sched_setscheduler"),
    Span("inherit", "rt_mutex_setprio"),
    Span("settime", f"{CALL}timerfd_settime"),
    Span("follow", "timershield_follow", optional=True),
)
FREE = 30
"""What "costs nothing" may cost."""
OFF_SETS = {"policy": (RAISED, LOWERED), "inherit": (BOOST, DEBOOST), "arm": (ARM,)}
NO_COST = {
    "no level changes": ("batch", "timers-100-batch"),
    "no timer is pending": ("pause",),
}
REPEATS = 1000


def scenarios(context: Context) -> list[Scenario]:
    """What the program is called with."""
    found = []
    for action, cases in SETS.items():
        for name, title, words in cases:
            rounds = context.samples(REPEATS)
            if not context.wants(name):
                continue
            found.append(Scenario(
                name, title, (f"--action={action}", *words, f"--repeats={rounds}"), 300))
    return found


def _goals_free(platform: str, stock: Measured, shielded: Measured) -> list[Goal]:
    goals = []
    for where, cases in NO_COST.items():
        more = {}
        for scenario in (s for s in cases if compare.both(s, stock, shielded)):
            for measure in (RAISED, LOWERED):
                difference = added(stock, shielded, scenario, measure)
                if difference is not None:
                    more[f"{scenario} {measure.word}"] = difference
        if more:
            goals.append(Goal(
                f"{platform}: a change of policy costs nothing where {where} (at most {FREE} "
                "instructions)",
                ", ".join(f"{k} {v:+.0f}" for k, v in more.items()), max(more.values()) <= FREE))
    return goals


def _goals_off(platform: str, stock: Measured, off: Measured) -> list[Goal]:
    goals = []
    for action, measures in OFF_SETS.items():
        more = {
            f"{name} {measure.word}": difference
            for name, _, _ in SETS[action] if compare.both(name, stock, off)
            for measure in measures
            if (difference := added(stock, off, name, measure)) is not None
        }
        if more:
            worst = max(more, key=lambda case: more[case])
            goals.append(Goal(
                f"{platform}: switched off, {action}: at most {FREE} instructions over stock's, "
                "whoever waits", f"{len(more)} cases, at most {more[worst]:+.0f}, in {worst}",
                more[worst] <= FREE))
    return goals


def _words(stock: Measured, shielded: Measured,
           wanted: tuple[tuple[str, Measure, str], ...]) -> str:
    parts = []
    for scenario, measure, word in wanted:
        if compare.both(scenario, stock, shielded):
            difference = added(stock, shielded, scenario, measure)
            if difference is not None:
                parts.append(f"{word} {difference:+,.0f}")
    return ", ".join(parts)


class RankCost(base.Experiment):
    """See the module."""

    name = "rank-cost"
    title = "What it costs that timers follow priorities and waiters"
    guests_only = "it counts the instructions of the lab's kernels"

    def scenarios(self) -> dict[str, str]:
        return {name: title for cases in SETS.values() for name, title, _ in cases}

    def run(self, context: Context) -> None:
        base.run_guest(context, self.name, context.systems(cpus=CPUS), PROGRAM,
                       scenarios(context), SPANS)

    def goals(self, store: Store) -> list[Goal]:
        found = []
        for platform, modes in compare.platforms(store).items():
            stock = modes.get(Mode.STOCK)
            if stock and Mode.SHIELDED in modes:
                found += _goals_free(platform, stock, modes[Mode.SHIELDED])
            if stock and Mode.OFF in modes:
                found += _goals_off(platform, stock, modes[Mode.OFF])
        return found

    def claims(self, store: Store) -> list[Claim]:
        def changes(stock: Measured, shielded: Measured) -> compare.Judged:
            found = _words(stock, shielded, (
                ("self", RAISED, "itself"), ("pause", RAISED, "a sleeper without a timer"),
                ("nanosleep", RAISED, "in nanosleep()"), ("epoll", RAISED, "in epoll_wait()"),
                ("timers-100", RAISED, "with 100 POSIX timers"),
                ("inherit-nanosleep", BOOST, "boost"), ("inherit-nanosleep", DEBOOST, "deboost")))
            return (f"typical, instructions: {found}", None) if found else None

        def arming(stock: Measured, shielded: Measured) -> compare.Judged:
            found = _words(stock, shielded, tuple(
                (name, samples.ARM, title) for name, title, _ in SETS["arm"]))
            return (f"typical, instructions: {found}", None) if found else None

        paper = "not covered: a timer keeps the priority of the task that armed it, on one CPU"
        noted = "no goal; see the tables"
        return [
            *compare.claim(store, "A change of priority reaches sleeping tasks' timers", paper,
                           changes, noted, ""),
            *compare.claim(store, "A timerfd ranks with those who wait for it when it is armed",
                           paper, arming, noted, ""),
        ]

    def parts(self, store: Store) -> list[Part]:
        return parts(store)


EXPERIMENT = RankCost()
