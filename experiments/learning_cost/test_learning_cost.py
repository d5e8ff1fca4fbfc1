# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples of what learning costs."""

from experiments.common.fabricated_bench import bench

SYSTEMS = ("host-stock",)
fabricated = bench
