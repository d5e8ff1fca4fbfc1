# SPDX-License-Identifier: GPL-2.0-or-later
$(OUT)/response_loop: $(loop)
$(OUT)/response_loop: CFLAGS += -D_GNU_SOURCE=
