# SPDX-License-Identifier: GPL-2.0-or-later
$(OUT)/price: $(loop)
$(OUT)/price: CFLAGS += -D_GNU_SOURCE=
