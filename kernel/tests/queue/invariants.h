/* SPDX-License-Identifier: GPL-2.0-only */
/* Is a shieldqueue sound, and does it hold what the model holds? */
#ifndef INVARIANTS_H
#define INVARIANTS_H

#include <linux/timerqueue.h>

#include "model.h"

/* Print what is wrong and where, and abort(). */
#define fail(_format, ...) \
	fail_at(__FILE__, __LINE__, _format, ##__VA_ARGS__)
#define expect(_condition) \
	do { if (!(_condition)) fail("expected %s", #_condition); } while (0)

void __noreturn __printf(3, 4) fail_at(const char *file, int line, const char *format, ...);

/*
 * Red-black rules, exact subtree levels, the cached leftmost timer, and the
 * same timers in the same order as in the model.
 */
void check_queue(const struct timerqueue_head *head, const struct model *model);

/* shieldqueue's answers for this threshold and time are the model's. */
void check_answers(struct timerqueue_head *head, const struct model *model,
		   ktime_t now, u8 threshold);

#endif /* INVARIANTS_H */
