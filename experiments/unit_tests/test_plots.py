# SPDX-License-Identifier: GPL-2.0-or-later
"""The same samples give the same figure, byte for byte, in this process and in others."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from experiments.report import plots
from lab.paths import REPO

SAMPLES = np.random.default_rng(1).lognormal(3, 1, 5000)


def figures() -> dict[str, str]:
    curves = [plots.Curve(m, m, i, SAMPLES + i) for i, m in enumerate(("stock", "shielded"))]
    return {
        "distribution": plots.distribution(curves, "µs", "a"),
        "ranges": plots.ranges(
            [plots.Bars("x", {"stock": (1.0, 2.0), "shielded": (1.0, 1.5)})], "µs", "b"),
        "lines": plots.lines(
            [plots.Line("stock", "stock", 0, [1, 2, 3], [300.0, 310.0, 320.5])], "n", "µs", "c"),
        "candles": plots.candles(
            {"one": [plots.Candle("stock", SAMPLES), plots.Candle("shielded", SAMPLES * 2)]},
            "ns", "d"),
    }


def digests() -> dict[str, str]:
    return {name: hashlib.sha256(svg.encode()).hexdigest() for name, svg in figures().items()}


def test_the_same_in_other_processes_with_other_hash_seeds() -> None:
    script = f"from {__name__} import digests; print(sorted(digests().items()))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", script], cwd=REPO, check=True, capture_output=True, text=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone},
        ).stdout
        for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo"))
    }
    assert seen == {f"{sorted(digests().items())}\n"}


@pytest.mark.parametrize("name", ["distribution", "ranges", "lines", "candles"])
def test_a_figure_depends_on_its_samples_and_loads_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    svg = figures()[name]
    assert svg.startswith("<svg")
    assert "<image" not in svg
    assert "<metadata" not in svg
    if name in ("distribution", "candles"):
        monkeypatch.setattr(sys.modules[__name__], "SAMPLES", SAMPLES * 1.01)
        assert figures()[name] != svg
