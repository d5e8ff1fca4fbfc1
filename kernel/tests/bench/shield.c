// SPDX-License-Identifier: GPL-2.0-only
/* The queue that ships, kernel/time/timershield_queue.h */

#include "timershield_queue.h"

#include "contender.h"

static void shield_init(void *queue)
{
	*(struct rb_root_cached *)queue = RB_ROOT_CACHED;
}

static noinline bool shield_add(void *queue, struct hrtimer *timer)
{
	timershield_queue_add(queue, timer, timer->level);
	return rb_first_cached((struct rb_root_cached *)queue) == &timer->HRTIMER_RB;
}

static noinline bool shield_del(void *queue, struct hrtimer *timer)
{
	return timershield_queue_del(queue, timer);
}

static bool empty(void *queue)
{
	return RB_EMPTY_ROOT(&((struct rb_root_cached *)queue)->rb_root);
}

static noinline struct hrtimer *shield_first(void *queue, u8 threshold)
{
	return empty(queue) ? NULL : first_at(queue, threshold);
}

static noinline struct hrtimer *shield_highest(void *queue, ktime_t now, u8 threshold)
{
	return empty(queue) ? NULL : first_due(queue, threshold, now);
}

#define PREFIX	shield
#include "batches.h"

const struct contender shield_contender = {
	.name		= "timershield",
	.size		= sizeof(struct rb_root_cached),
	.levels		= true,
	CONTENDER_FUNCTIONS,
};
