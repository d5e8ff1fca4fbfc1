# SPDX-License-Identifier: GPL-2.0-or-later
with_clockfix += $(OUT)/together

# with the loads and records of the response loop
$(OUT)/together: $(filter-out %/main.c %/job.c,$(wildcard $(experiments)/response_loop/*.[ch]))
$(OUT)/together: CFLAGS += -I $(experiments)/response_loop
