# SPDX-License-Identifier: LGPL-2.1-or-later
"""A test that hangs says where."""

import faulthandler
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    faulthandler.dump_traceback_later(120, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
