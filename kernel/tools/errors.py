# SPDX-License-Identifier: GPL-2.0-or-later
"""The one exception whose text is meant for the user."""


class ToolError(Exception):
    """Something the user can act on; a command prints it without a traceback."""
