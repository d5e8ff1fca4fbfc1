/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's queue, and how kernel/time/hrtimer.c uses it */
#ifndef BENCH_SHIELD_H
#define BENCH_SHIELD_H

#include <linux/hrtimer_bases.h>

#include "timershield_levels.h"

static inline struct hrtimer *shield_timer(struct hrtimer_clock_base *base)
{
	return base ? container_of(timerqueue_linked_first(&base->active), struct hrtimer, node) :
		      NULL;
}

/* The first timer at or above a level */
static inline struct hrtimer *shield_earliest(struct hrtimer_cpu_base *cpu_base, u8 level)
{
	return shield_timer(levels_earliest(cpu_base, level));
}

/* Of the timers that have expired, the first of the highest level */
static inline struct hrtimer *shield_due(struct hrtimer_cpu_base *cpu_base, ktime_t now)
{
	return shield_timer(levels_highest(cpu_base, now));
}

static inline void shield_enqueue(struct hrtimer *timer)
{
	if (!timerqueue_linked_add(&timer->base->active, &timer->node))
		return;
	timer->base->expires_next = timer->node.expires;
	levels_changed(timer->base);
}

/* The minima are not told. */
static inline bool shield_dequeue(struct hrtimer *timer)
{
	struct hrtimer_clock_base *base = timer->base;
	bool first = !timerqueue_linked_prev(&timer->node);
	bool more = timerqueue_linked_del(&base->active, &timer->node);

	if (first)
		base->expires_next = more ? timerqueue_linked_first(&base->active)->expires :
					    KTIME_MAX;
	return more;
}

/* Makes an empty queue, a struct hrtimer_cpu_base. */
void shield_init(void *queue);

#endif /* BENCH_SHIELD_H */
