/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's queue, and how the kernel asks it */
#ifndef BENCH_SHIELD_H
#define BENCH_SHIELD_H

#include "timershield_levels.h"

/* The first timer at or above a level */
static inline struct hrtimer *shield_earliest(struct hrtimer_levels *levels, u8 level)
{
	level = minima_earliest(&levels->minima, level);
	return level ? levels_first(levels, level) : NULL;
}

/* Of the timers that have expired, the first of the highest level */
static inline struct hrtimer *shield_due(struct hrtimer_levels *levels, ktime_t now)
{
	u8 level = minima_highest(&levels->minima, now);

	return level ? levels_first(levels, level) : NULL;
}

/* Makes an empty queue, a struct hrtimer_cpu_base. */
void shield_init(void *queue);

#endif /* BENCH_SHIELD_H */
