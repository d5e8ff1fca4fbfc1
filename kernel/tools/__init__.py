# SPDX-License-Identifier: GPL-2.0-or-later
"""Behind kernel/apply, kernel/refresh and kernel/series; needs Python and patch or git only."""
