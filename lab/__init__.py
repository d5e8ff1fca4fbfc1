# SPDX-License-Identifier: GPL-2.0-or-later
"""The TimerShield lab: builds kernels, boots guests, runs experiments, draws reports."""
