# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples of a job longer than a tick."""

from experiments.response_loop.fabricated import response

fabricated = response
