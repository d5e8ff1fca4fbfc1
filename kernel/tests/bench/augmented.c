// SPDX-License-Identifier: GPL-2.0-only
/* One red-black tree, augmented with the highest level in each subtree */

#include "augmented.h"
#include "contender.h"

static void augmented_init(void *queue)
{
	*(struct rb_root_cached *)queue = RB_ROOT_CACHED;
}

static noinline bool augmented_add(void *queue, struct hrtimer *timer)
{
	augmented_queue_add(queue, timer, timer->level);
	return rb_first_cached((struct rb_root_cached *)queue) == &timer->HRTIMER_RB;
}

static noinline bool augmented_del(void *queue, struct hrtimer *timer)
{
	return augmented_queue_del(queue, timer);
}

static bool empty(void *queue)
{
	return RB_EMPTY_ROOT(&((struct rb_root_cached *)queue)->rb_root);
}

static noinline struct hrtimer *augmented_first(void *queue, u8 threshold)
{
	return empty(queue) ? NULL : first_at(queue, threshold);
}

static noinline struct hrtimer *augmented_highest(void *queue, ktime_t now, u8 threshold)
{
	return empty(queue) ? NULL : first_due(queue, threshold, now);
}

#define PREFIX	augmented
#include "batches.h"

const struct contender augmented_contender = {
	.name		= "augmented",
	.size		= sizeof(struct rb_root_cached),
	.levels		= true,
	CONTENDER_FUNCTIONS,
};
