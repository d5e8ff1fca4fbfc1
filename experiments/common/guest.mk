# SPDX-License-Identifier: GPL-2.0-or-later
with_clockfix += $(OUT)/control_loop

$(OUT)/control_loop: $(loop)
$(OUT)/control_loop: CFLAGS += -D_GNU_SOURCE=
