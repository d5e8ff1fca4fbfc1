# SPDX-License-Identifier: GPL-2.0-or-later
"""One file per experiment, named after what it shows."""
