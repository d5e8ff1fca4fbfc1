// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue that ships, kernel/time/timershield_queue.h: that of the paper (RTAS 2017,
 * section III), a red-black tree for each level and a segment tree over their minima
 */
#include "shield.h"

#include "contender.h"

void shield_init(void *queue)
{
	struct hrtimer_cpu_base *base = queue;

	*base = (struct hrtimer_cpu_base){ .shield = TIMERSHIELD_CPU_INIT };
}

static noinline bool shield_add(void *queue, struct hrtimer *timer)
{
	struct hrtimer_cpu_base *base = queue;

	timer->base = base->clock_base;
	timershield_queue_add(&base->shield, timer, timer->level);
	return minima_all(&base->shield.minima[0]) == timer->node.expires;
}

static noinline bool shield_del(void *queue, struct hrtimer *timer)
{
	struct hrtimer_cpu_base *base = queue;

	timershield_queue_del(&base->shield, timer);
	return minima_all(&base->shield.minima[0]) != KTIME_MAX;
}

static noinline struct hrtimer *shield_first(void *queue, u8 threshold)
{
	struct hrtimer_cpu_base *base = queue;

	return timershield_earliest(&base->shield, false, threshold);
}

static noinline struct hrtimer *shield_highest(void *queue, ktime_t now, u8 threshold)
{
	struct hrtimer_cpu_base *base = queue;

	return timershield_due(&base->shield, false, threshold, now);
}

#define PREFIX	shield
#include "batches.h"

const struct contender shield_contender = {
	.name		= "timershield",
	.size		= sizeof(struct hrtimer_cpu_base),
	.levels		= true,
	CONTENDER_FUNCTIONS,
};
