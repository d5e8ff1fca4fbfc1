# SPDX-License-Identifier: GPL-2.0-or-later
"""The one exception whose text is meant for the user: that of the kernel tools."""

from kernel.tools.patchset import ToolError as LabError

__all__ = ["LabError"]
