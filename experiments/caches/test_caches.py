# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples of the modelled caches' misses."""

from experiments.common.fabricated import JOBS, Files, csv


def fabricated(_: str) -> Files:
    """What the plugin counts."""
    return {"spans.csv": csv("span,cpu,begin,instructions,l1_misses,l2_misses", (
        (name, 0, 10_000 * i, 300 + i, 20 + i, i % 2)
        for name in ("switch", "arm", "interrupt", "job") for i in range(1, JOBS + 1)))}
