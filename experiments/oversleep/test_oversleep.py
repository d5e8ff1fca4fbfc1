# SPDX-License-Identifier: GPL-2.0-or-later
"""The rivals of ClockFix."""

import re

from experiments.clock_precision import experiment as clock_precision
from experiments.common.fabricated_bench import bench
from experiments.oversleep import experiment as oversleep
from lab.paths import REPO

SYSTEMS = ("host-stock",)
fabricated = bench


def test_experiments_ask_for_rivals_that_the_bench_has() -> None:
    source = (REPO / "clockfix" / "bench" / "rivals.c").read_text()
    known = set(re.findall(r'^\t\{ "([^"]+)"', source, re.MULTILINE))
    assert set(oversleep.RIVALS) | set(clock_precision.RIVALS) <= known
