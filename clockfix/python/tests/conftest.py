# SPDX-License-Identifier: LGPL-2.1-or-later
"""A test that hangs says where."""

import faulthandler
import os
from collections.abc import Iterator

import pytest

STDERR = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """Keep what a test's output is not captured from."""
    config.stash[STDERR] = os.dup(2)


@pytest.fixture(autouse=True)
def _no_hang(pytestconfig: pytest.Config) -> Iterator[None]:
    faulthandler.dump_traceback_later(120, exit=True, file=pytestconfig.stash[STDERR])
    yield
    faulthandler.cancel_dump_traceback_later()
