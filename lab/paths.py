# SPDX-License-Identifier: GPL-2.0-or-later
"""Where things are: the repository's own directories and what is built below build/."""

import os
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
MODULE = REPO / "kernel" / "module"
CONFIGS = REPO / "kernel" / "configs"
TESTS = REPO / "tests"
TEST_MODULES = TESTS / "modules"
DEFECTS = TESTS / "defects.patch"

BUILD = Path(os.environ.get("BUILD", REPO / "build")).resolve()
KERNEL_BUILDS = BUILD / "kernel"
GUEST_BUILDS = BUILD / "guest"
RESULTS = BUILD / "results"
LOGS = BUILD / "logs"
