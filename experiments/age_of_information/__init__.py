# SPDX-License-Identifier: GPL-2.0-or-later
"""Age of information: correcting the clocks of two nodes, and what the packets tell then."""
