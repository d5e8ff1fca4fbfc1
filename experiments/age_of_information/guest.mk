# SPDX-License-Identifier: GPL-2.0-or-later
with_clockfix += $(OUT)/age_of_information
