# SPDX-License-Identifier: GPL-2.0-or-later
with_clockfix += $(OUT)/together

# with the order of things and the records of the response loop
$(OUT)/together: $(filter-out %/main.c,$(wildcard $(experiments)/response_loop/*.[ch])) $(loop)
$(OUT)/together: CFLAGS += -I $(experiments)/response_loop
$(OUT)/together: CFLAGS += -D_GNU_SOURCE=
