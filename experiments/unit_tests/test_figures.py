# SPDX-License-Identifier: GPL-2.0-or-later
"""What README and docs/ quote is what was measured."""

import copy
import re
from pathlib import Path

import pytest

from experiments.commands import figures
from lab.paths import REPO


@pytest.mark.parametrize("path", figures.TEXTS, ids=lambda p: str(p.relative_to(REPO)))
def test_a_text_quotes_what_was_measured(path: Path) -> None:
    text = path.read_text()
    assert figures.MARKED.search(text)
    assert figures.written(text, figures.kept()) == text


def test_the_picture_has_colours_for_dark_pages_and_fits_a_phone() -> None:
    text = figures.PICTURE.read_text()
    assert float(re.findall(r'viewBox="0 0 ([\d.]+) ', text)[0]) < 400
    assert figures.COLOURS in text
    assert "#000000" not in text


def test_every_figure_is_quoted() -> None:
    quoted = {m[2] for t in figures.TEXTS for m in figures.MARKED.finditer(t.read_text())}
    assert quoted == set(figures.QUOTES)


def test_a_figure_that_changed_is_noticed() -> None:
    found = copy.deepcopy(figures.kept())
    found["module"]["rows"]["nothing"][0][1] += 1
    for claim in found["measured"]["bounds"]["claims"]:
        claim["found"] = re.sub(r"\d", lambda m: str(9 - int(m[0])), claim["found"])
    changed = {str(p.relative_to(REPO)) for p in figures.TEXTS
               if figures.written(p.read_text(), found) != p.read_text()}
    assert changed == {"README.md", "docs/bound.md"}
