# SPDX-License-Identifier: GPL-2.0-or-later
"""What timershield blame shows, and what it costs."""
