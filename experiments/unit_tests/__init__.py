# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of what the experiments share."""
