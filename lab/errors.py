# SPDX-License-Identifier: GPL-2.0-or-later
"""The one exception whose text is meant for the user."""


class LabError(Exception):
    """Something the user can act on; the command line prints it without a traceback."""
