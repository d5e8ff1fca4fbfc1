/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's queue, and how kernel/time/hrtimer.c uses it */
#ifndef QUEUE_H
#define QUEUE_H

#include <linux/hrtimer_bases.h>

#include "timershield_levels.h"

static inline struct hrtimer *queue_first(struct hrtimer_clock_base *base)
{
	return base ? container_of(timerqueue_linked_first(&base->active), struct hrtimer, node) :
		      NULL;
}

/* The first timer at or above a level */
static inline struct hrtimer *queue_earliest(struct hrtimer_cpu_base *cpu_base, u8 level)
{
	return queue_first(levels_earliest(cpu_base, level));
}

/* Of the timers that have expired, the first of the highest level */
static inline struct hrtimer *queue_due(struct hrtimer_cpu_base *cpu_base, ktime_t now)
{
	return queue_first(levels_highest(cpu_base, now));
}

static inline void queue_add(struct hrtimer *timer)
{
	if (!timerqueue_linked_add(&timer->base->active, &timer->node))
		return;
	timer->base->expires_next = timer->node.expires;
	levels_changed(timer->base);
}

/* The minima are not told. */
static inline void queue_del(struct hrtimer *timer)
{
	struct hrtimer_clock_base *base = timer->base;
	bool first = !timerqueue_linked_prev(&timer->node);
	bool more = timerqueue_linked_del(&base->active, &timer->node);

	if (first)
		base->expires_next = more ? timerqueue_linked_first(&base->active)->expires :
					    KTIME_MAX;
}

static inline void queue_init(struct hrtimer_cpu_base *cpu_base)
{
	*cpu_base = (struct hrtimer_cpu_base){ 0 };
	for (unsigned int i = 0; i < HRTIMER_MAX_CLOCK_BASES; i++) {
		cpu_base->clock_base[i].cpu_base = cpu_base;
		cpu_base->clock_base[i].index = i;
	}
	levels_init(cpu_base);
}

#endif /* QUEUE_H */
