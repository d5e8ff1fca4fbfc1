# SPDX-License-Identifier: GPL-2.0-or-later
with_clockfix += $(OUT)/together

# with the order of things and the records of the control loop
$(OUT)/together: $(filter-out %/main.c,$(wildcard $(experiments)/common/*.[ch])) $(loop)
$(OUT)/together: CFLAGS += -I $(experiments)/common
$(OUT)/together: CFLAGS += -D_GNU_SOURCE=
