# SPDX-License-Identifier: GPL-2.0-or-later
"""What ClockFix's estimators take to learn from an oversleep.

S. Reif, W. Schröder-Preikschat, "Precisely Timed Task Execution", section V-C (Fig 6).
"""

from experiments.common.clock_costs import ClockCosts
from experiments.common.clockfix_curves import Curve, quantile
from experiments.report.claims import Claim
from experiments.report.page import Part
from lab.measure.results import Measured, Store

SCENARIO = "learning"
MOST_NS = 200
FUNCTIONS = {
    "learn-nothing": "nothing: the measurement itself",
    "learn-ema": "moving average",
    "learn-average": "average of 64 (the paper's)",
    "learn-maximum": "maximum of 64 (the paper's)",
    "learn-default": "ClockFix's own",
}

HOW = (
    "The clock is read, an estimator of the library is given an oversleep, the clock is read "
    "again. The oversleeps are a fixed series, most alike and one in 64 much longer. \"Nothing\" "
    "is the same without an estimator: the clock's precision."
)
WHY = (
    "Why ours differ from the paper's: another CPU and clock, whose steps of some ns are seen; "
    "and the library keeps its window sorted, so that any rank can be had. "
    "ClockFix counts with its learning's cost: it learns between waking up and the job if there "
    "is twice that time, else after the job."
)


class LearningCost(ClockCosts):
    """See the module."""

    name = "learning-cost"
    title = "What learning takes (ClockFix)"
    scenario = SCENARIO
    texts = (HOW, WHY)
    timed = FUNCTIONS
    head = "learning function"
    caption = "Time in ns, the measurement itself included."

    def claims(self, store: Store) -> list[Claim]:
        result = []
        for system in store:
            costs = system.table(SCENARIO, "costs")
            medians = {what: quantile(costs, what, 0.5) for what in FUNCTIONS}
            names = {"learn-nothing": "nothing", "learn-ema": "moving average",
                     "learn-average": "average", "learn-maximum": "maximum",
                     "learn-default": "ClockFix's own"}
            found = ", ".join(f"{n} {medians[w]:,.0f}" for w, n in names.items())
            result.append(Claim(
                f"Learning takes at most {MOST_NS} ns, whichever the filter", system.system.place,
                f"medians in ns: {found}", max(medians.values()) <= MOST_NS,
                "Fig 6 (Xeon): average and maximum about 80 ns, moving average less, nothing "
                "18 ns"))
        return result

    def drawn(self, system: Measured) -> tuple[list[Curve], dict[str, float], str, list[Part]]:
        return [], {"the paper: 80 ns": 80}, "Time to learn (the paper's Fig 6).", []


EXPERIMENT = LearningCost()
