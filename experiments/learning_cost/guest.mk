# SPDX-License-Identifier: GPL-2.0-or-later
with_clockfix += $(OUT)/learning_cost

# the library's inside
$(OUT)/learning_cost: CFLAGS += -I $(clockfix)/src
