// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue that ships, kernel/time/timershield_levels.h: that of the paper (RTAS 2017,
 * section III), a red-black tree for each level and a segment tree over their minima
 */
#include "shield.h"

#include "contender.h"

void shield_init(void *queue)
{
	struct hrtimer_cpu_base *base = queue;

	*base = (struct hrtimer_cpu_base){ 0 };
	levels_init(&base->levels);
}

static noinline bool shield_add(void *queue, struct hrtimer *timer)
{
	struct hrtimer_cpu_base *base = queue;

	timer->base = base->clock_base;
	levels_add(&base->levels, timer, timer->level);
	return levels_earliest(base) == timer->node.expires;
}

static noinline bool shield_del(void *queue, struct hrtimer *timer)
{
	struct hrtimer_cpu_base *base = queue;

	levels_del(&base->levels, timer);
	return levels_earliest(base) != KTIME_MAX;
}

static noinline struct hrtimer *shield_first(void *queue, u8 threshold)
{
	struct hrtimer_cpu_base *base = queue;

	return shield_earliest(&base->levels, threshold);
}

static noinline struct hrtimer *shield_highest(void *queue, ktime_t now, u8 threshold)
{
	struct hrtimer_cpu_base *base = queue;
	struct hrtimer *timer = shield_due(&base->levels, now);

	return timer && timer->level >= threshold ? timer : NULL;
}

#define PREFIX	shield
#include "batches.h"

const struct contender shield_contender = {
	.name		= "timershield",
	.size		= sizeof(struct hrtimer_cpu_base),
	.levels		= true,
	CONTENDER_FUNCTIONS,
};
