# SPDX-License-Identifier: GPL-2.0-or-later
"""What it costs that timers follow who they are for: priority changes, inheritance, arming for
others, hand-over between CPUs.

Context switches and arming for oneself are experiments of their own.
"""

from lab import spans
from lab.claims import Claim
from lab.experiments import base, compare, rank_samples
from lab.experiments.base import Context, Goal, Scenario
from lab.experiments.rank_samples import BOOST, DEBOOST, LOWERED, RAISED, Measure, added
from lab.experiments.rank_section import SETS, section
from lab.report_page import Section
from lab.results import Store
from lab.spans import Span
from lab.systems import System

PROGRAM = "rank"
CPUS = 2
CALL = r"__(x64|arm64)_sys_"
END = f"{CALL}getpgid"
OWN = "asm_sysvec_irq_work|el1h_64_irq"
"""Interrupts that a call may raise itself and finish in: to wake who polls. arm64 has one entry for
all, so that a tick counts there, too."""
SPANS = (
    Span("rise", f"{CALL}getppid", until=END, through=OWN),
    Span("fall", f"{CALL}getsid", until=END, through=OWN),
    Span("job", f"{CALL}getegid", until=END, through=spans.INTERRUPTS),
    Span("policy", "__sched_setscheduler", through=OWN),
    Span("inherit", "rt_mutex_setprio"),
    Span("settime", f"{CALL}timerfd_settime"),
    Span("interrupt", "hrtimer_interrupt"),
    Span("wake", "wake_pollers", optional=True),
    Span("walk", "ep_raise_timers", optional=True),
    Span("timers", "timershield_policy_changed", optional=True),
    Span("offer", "hrtimer_shield_offer", optional=True),
    Span("offer-timer", "hrtimer_shield_offer_timer", optional=True),
    Span("take", "hrtimer_shield_take", optional=True),
)
FREE = 50
"""What "costs nothing" may cost; the same as for a context switch within a level."""
NO_COST = {
    "no level changes": ("batch", "timers-100-batch"),
    "no timer is pending": ("pause",),
}
BOUNDED = 1.05
REPEATS = 1000
ROUNDS = 40


def scenarios(context: Context) -> list[Scenario]:
    """What the program is called with."""
    found = []
    for action, cases in SETS.items():
        for name, title, words in cases:
            rounds = context.samples(ROUNDS if action == "handover" else REPEATS)
            if not context.wants(name):
                continue
            found.append(Scenario(
                name, title, (f"--action={action}", *words, f"--repeats={rounds}"), 300))
    return found


def _goals_free(store: Store, platform: str, stock: str, shielded: str) -> list[Goal]:
    goals = []
    for where, cases in NO_COST.items():
        more = {}
        for scenario in (s for s in cases if compare.both(store, s, stock, shielded)):
            for measure in (RAISED, LOWERED):
                difference = added(store, stock, shielded, scenario, measure)
                if difference is not None:
                    more[f"{scenario} {measure.word}"] = difference
        if more:
            goals.append(Goal(
                f"{platform}: a change of policy costs nothing where {where} (at most {FREE} "
                "instructions, less than reading the clock takes)",
                ", ".join(f"{k} {v:+.0f}" for k, v in more.items()), max(more.values()) <= FREE))
    return goals


def handovers(store: Store, system: str) -> dict[int, str]:
    """Number of timers -> scenario, of those that were run."""
    found = {}
    for scenario in store.scenarios(system):
        if scenario.startswith("handover-") and store.has(system, scenario):
            found[int(scenario.removeprefix("handover-"))] = scenario
    return dict(sorted(found.items()))


def _goals_handover(store: Store, platform: str, shielded: str) -> list[Goal]:
    found = handovers(store, shielded)
    goals = []
    if len(found) > 1 and 0 in found:
        interrupts = {n: rank_samples.per_job(store, shielded, s, rank_samples.INTERRUPTS)
                      for n, s in found.items()}
        summaries = [store.summary(shielded, s) for s in found.values()]
        stayed = sum(s["repeats"] * s["count"] - s["taken"] for s in summaries)
        goals.append(Goal(
            f"{platform}: timers that another CPU may serve do not interrupt the busy one",
            f"{stayed:.0f} timers were not taken over; timer interrupts in a job: " + ", ".join(
                f"{n} timers {i:.2f}" for n, i in interrupts.items()),
            stayed == 0 and max(interrupts.values()) <= interrupts[0]))
    if {100, 400} <= found.keys():
        worst = {n: rank_samples.samples(store, shielded, found[n], rank_samples.OFFER)
                 for n in (100, 400)}
        if all(len(s) for s in worst.values()):
            a, b = (int(worst[n].max()) for n in (400, 100))
            goals.append(Goal(
                f"{platform}: offering costs the busy CPU a bounded time (400 timers at most "
                f"{BOUNDED} times what 100 do)",
                f"longest: {a:,} instructions with 400, {b:,} with 100", a <= BOUNDED * b))
    return goals


def _words(store: Store, stock: str, shielded: str,
           wanted: tuple[tuple[str, Measure, str], ...]) -> str:
    parts = []
    for scenario, measure, word in wanted:
        if compare.both(store, scenario, stock, shielded):
            difference = added(store, stock, shielded, scenario, measure)
            if difference is not None:
                parts.append(f"{word} {difference:+,.0f}")
    return ", ".join(parts)


class RankCost(base.Experiment):
    """See the module."""

    name = "rank-cost"
    title = "What it costs that timers follow priorities, waiters and CPUs"
    guests_only = "it counts the instructions of the lab's kernels"

    def scenarios(self) -> dict[str, str]:
        return {name: title for cases in SETS.values() for name, title, _ in cases}

    def run(self, context: Context) -> None:
        systems = [System(p, m) for p in context.platforms for m in context.modes]
        base.run_guest(context, self.name, systems, PROGRAM, scenarios(context), SPANS, CPUS)

    def goals(self, store: Store) -> list[Goal]:
        found = []
        for platform, stock, shielded in compare.pairs(store):
            found += _goals_free(store, platform, stock, shielded)
            found += _goals_handover(store, platform, shielded)
        return found

    def claims(self, store: Store) -> list[Claim]:
        def changes(stock: str, shielded: str) -> tuple[str, bool | None] | None:
            found = _words(store, stock, shielded, (
                ("self", RAISED, "itself"), ("pause", RAISED, "a sleeper without a timer"),
                ("nanosleep", RAISED, "in nanosleep()"), ("epoll", RAISED, "in epoll_wait()"),
                ("timers-100", RAISED, "with 100 POSIX timers"),
                ("inherit-nanosleep", BOOST, "boost"), ("inherit-nanosleep", DEBOOST, "deboost")))
            return (f"typical, instructions: {found}", None) if found else None

        def arming(stock: str, shielded: str) -> tuple[str, bool | None] | None:
            found = _words(store, stock, shielded, tuple(
                (name, rank_samples.ARM, title) for name, title, _ in SETS["arm"]))
            return (f"typical, instructions: {found}", None) if found else None

        def handover(stock: str, shielded: str) -> tuple[str, bool | None] | None:
            goals = _goals_handover(store, "", shielded)
            if not goals:
                return None
            return "; ".join(g.found for g in goals), all(g.met for g in goals)

        paper = "not covered: a timer keeps the priority of who armed it, on one CPU"
        noted = "no goal; see the tables"
        return [
            *compare.claim(store, "A change of priority reaches the timers of who sleeps", paper,
                           changes, noted, ""),
            *compare.claim(store, "A timerfd ranks with those who wait for it when it is armed",
                           paper, arming, noted, ""),
            *compare.claim(
                store, "A busy CPU hands timers over without an interrupt, at a bounded cost",
                paper, handover, "met", "missed: it is interrupted, or its cost grows"),
        ]

    def section(self, store: Store) -> Section:
        return section(self.title, self.name, store, self.goals(store))


EXPERIMENT = RankCost()
