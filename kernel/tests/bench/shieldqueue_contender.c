// SPDX-License-Identifier: GPL-2.0-only
/*
 * shieldqueue as it ships, and a second time, with SHIELDQUEUE_NEAR_LEVELS,
 * over a struct hrtimer whose byte members follow the queue node, so that a
 * walk touches 40 bytes of each timer, not 64. The Makefile renames that
 * one's functions.
 */

#include <linux/shieldqueue.h>

#include "contender.h"

static void queue_init(void *queue)
{
	timerqueue_init_head(queue);
}

static bool queue_add(void *queue, struct hrtimer *timer)
{
	return shieldqueue_add(queue, timer);
}

static bool queue_del(void *queue, struct hrtimer *timer)
{
	return shieldqueue_del(queue, timer);
}

static struct hrtimer *queue_first(void *queue, u8 threshold)
{
	return shieldqueue_first(queue, threshold);
}

static struct hrtimer *queue_highest(void *queue, ktime_t now, u8 threshold)
{
	return shieldqueue_highest(queue, now, threshold);
}

#define PREFIX	queue
#include "batches.h"

#ifdef SHIELDQUEUE_NEAR_LEVELS
const struct contender nearlevels_contender = {
	.name		= "near-levels",
	.what		= "shieldqueue, its bytes right behind the node",
#else
const struct contender shieldqueue_contender = {
	.name		= "shieldqueue",
	.what		= "one rb-tree, highest level of each subtree",
#endif
	.size		= sizeof(struct timerqueue_head),
	.levels		= true,
	.level_offset	= offsetof(struct hrtimer, level),
	CONTENDER_FUNCTIONS,
};
