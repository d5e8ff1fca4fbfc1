# SPDX-License-Identifier: GPL-2.0-or-later
$(OUT)/control_loop: $(loop)
$(OUT)/control_loop: CFLAGS += -D_GNU_SOURCE=
