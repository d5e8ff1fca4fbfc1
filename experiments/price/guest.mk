# SPDX-License-Identifier: GPL-2.0-or-later
$(OUT)/price: $(filter-out %/rounds.c,$(loop))
$(OUT)/price: CFLAGS += -D_GNU_SOURCE=
