# SPDX-License-Identifier: GPL-2.0-or-later
"""The constants of the bound are those of the longest tick and switch."""

from pathlib import Path

import pytest

from experiments.bounds import bound
from experiments.bounds.experiment import EXPERIMENT
from experiments.measure.results import Store

TICK, SWITCH = bound.COUNTED["6.12", "x86_64", "preempt"]


@pytest.mark.parametrize(("tick", "switch", "met"), [
    (TICK, SWITCH, True), (TICK + 1, SWITCH, False), (TICK, SWITCH + 1, False)])
def test_a_longer_tick_or_switch_is_missed(
    sample: Path, tick: int, switch: int, met: bool
) -> None:
    shielded = sample / EXPERIMENT.name / "x86_64-preempt-shielded"
    for scenario, more in (("long-none", 0), ("long-sleepers-1000", tick)):
        # an interrupt between jobs is no tick that lengthens one
        (shielded / scenario / "spans.csv").write_text(
            "span,cpu,begin,instructions\n"
            f"job,0,1000,90000\ninterrupt,0,2000,{1600 + more}\ninterrupt,0,91001,99999\n"
            f"switch,0,91000,{switch}\njob,0,200000,9\n")
    store = Store(sample, EXPERIMENT.name)
    [claim] = [c for c in EXPERIMENT.claims if c.title.startswith("The constants")]
    assert [j.met for j in claim.judged(store)] == [met]
