# SPDX-License-Identifier: GPL-2.0-or-later
"""Age of information: what packets tell."""
