# SPDX-License-Identifier: GPL-2.0-or-later
"""README's table and picture are of what was measured."""

import copy
import re
from pathlib import Path

from experiments.commands import demo, figures
from experiments.unit_tests.test_demo import HELPS, PRINTED


def test_readme_quotes_what_was_measured() -> None:
    text = figures.README.read_text()
    assert {m[2] for m in figures.MARKED.finditer(text)} == set(figures.QUOTES)
    assert figures.written(text, figures.kept()) == text
    found = copy.deepcopy(figures.kept())
    found["module"]["rows"]["nothing"][0][1] += 1
    assert figures.written(text, found) != text


def test_the_picture_has_colours_for_dark_pages_and_fits_a_phone() -> None:
    text = figures.PICTURE.read_text()
    assert float(re.findall(r'viewBox="0 0 ([\d.]+) ', text)[0]) < 400
    assert figures.COLOURS in text
    assert "#000000" not in text


def test_the_demos_table_is_read() -> None:
    shown = demo.Shown("Linux", PRINTED.format(HELPS, "0.00"), Path())
    assert figures.figures(shown) == {"module": {"kernel": "Linux", "jobs": 600, "rows": {
        "nothing": [[303.7, 303.8], [304.6, 304.8], [0, 0]],
        "timerfds": [[384.1, 308.4], [427.3, 337.1], [60.02, 0]]}}}
