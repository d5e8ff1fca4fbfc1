# SPDX-License-Identifier: GPL-2.0-or-later
"""Behind kernel/apply, kernel/refresh and kernel/series: Python, patch and git only."""
