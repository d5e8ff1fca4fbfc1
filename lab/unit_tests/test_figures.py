# SPDX-License-Identifier: GPL-2.0-or-later
"""What README quotes is what docs/figures.json has."""

import json
from pathlib import Path

import pytest

from lab.commands import figures


@pytest.mark.parametrize("path", figures.TEXTS, ids=lambda p: p.name)
def test_a_text_quotes_what_was_measured(path: Path) -> None:
    text = path.read_text()
    assert figures.MARKED.search(text)
    assert figures.written(text, json.loads(figures.KEPT.read_text())) == text


def test_a_figure_that_was_edited_is_noticed() -> None:
    kept = json.loads(figures.KEPT.read_text())
    text = figures.TEXTS[0].read_text()
    kept["module"]["none"]["on"]["p50"] += 1
    assert figures.written(text, kept) != text
