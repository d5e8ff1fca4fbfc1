# SPDX-License-Identifier: GPL-2.0-or-later
"""The same samples give the same figure, byte for byte, in this process and in another."""

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from experiments.report import plots
from lab.paths import REPO

SAMPLES = np.random.default_rng(1).lognormal(3, 1, 5000)


FIGURES: dict[str, Callable[[], str]] = {
    "distribution": lambda: plots.distribution(
        [plots.Curve(m, m, i, SAMPLES + i) for i, m in enumerate(("stock", "shielded"))],
        "µs", "a"),
    "ranges": lambda: plots.ranges(
        [plots.Bars("x", {"stock": (1.0, 2.0), "shielded": (1.0, 1.5)})], "µs", "b"),
    "lines": lambda: plots.lines(
        [plots.Line("stock", "stock", 0, [1, 2, 3], [300.0, 310.0, 320.5])], "n", "µs", "c"),
    "candles": lambda: plots.candles(
        {"one": [plots.Candle("stock", SAMPLES), plots.Candle("shielded", SAMPLES * 2)]},
        "ns", "d"),
}


def digests() -> dict[str, str]:
    return {name: hashlib.sha256(draw().encode()).hexdigest() for name, draw in FIGURES.items()}


def test_the_same_in_another_process_with_another_hash_seed() -> None:
    script = f"from {__name__} import digests; print(digests())"
    other = subprocess.run(
        [sys.executable, "-c", script], cwd=REPO, check=True, capture_output=True, text=True,
        env={**os.environ, "PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo"}).stdout
    assert other == f"{digests()}\n"


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_depends_on_its_samples_and_loads_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    svg = FIGURES[name]()
    assert svg.startswith("<svg")
    assert "<image" not in svg
    assert "<metadata" not in svg
    assert 'fill="currentColor"' in svg
    assert not re.search("#0{6}|fill: #f{6}", svg), "it would not be seen on a dark page"
    if name in ("distribution", "candles"):
        monkeypatch.setattr(sys.modules[__name__], "SAMPLES", SAMPLES * 1.01)
        assert FIGURES[name]() != svg
