// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue that ships, kernel/time/timershield_levels.h: that of the paper (RTAS 2017,
 * section III), a red-black tree for each level and clock, and a segment tree over the levels' minima
 */
#include "shield.h"

#include "contender.h"

void shield_init(void *queue)
{
	struct hrtimer_cpu_base *cpu_base = queue;

	*cpu_base = (struct hrtimer_cpu_base){ 0 };
	for (unsigned int i = 0; i < HRTIMER_MAX_CLOCK_BASES; i++) {
		cpu_base->clock_base[i].cpu_base = cpu_base;
		cpu_base->clock_base[i].index = i;
	}
	levels_init(cpu_base);
}

static noinline bool shield_add(void *queue, struct hrtimer *timer)
{
	struct hrtimer_cpu_base *cpu_base = queue;

	/* The queue is for levels from TIMERSHIELD_REALTIME on. */
	timer->base = &cpu_base->clock_base[levels_index(timer->level + 1, 0)];
	shield_enqueue(timer);
	return minima_all(&cpu_base->minima) == timer->node.expires;
}

static noinline bool shield_del(void *queue, struct hrtimer *timer)
{
	shield_dequeue(timer);
	return levels_earliest(queue, TIMERSHIELD_ORDINARY);
}

static noinline struct hrtimer *shield_first(void *queue, u8 threshold)
{
	return shield_earliest(queue, threshold + 1);
}

static noinline struct hrtimer *shield_highest(void *queue, ktime_t now, u8 threshold)
{
	struct hrtimer *timer = shield_due(queue, now);

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
