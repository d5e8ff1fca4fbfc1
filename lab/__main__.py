# SPDX-License-Identifier: GPL-2.0-or-later
"""``python3 -m lab``."""

import sys

from lab.commands.cli import main

if __name__ == "__main__":
    sys.exit(main())
