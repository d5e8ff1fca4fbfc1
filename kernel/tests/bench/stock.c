// SPDX-License-Identifier: GPL-2.0-only
/* Stock timerqueue: the kernel's lib/timerqueue.c, which knows no levels */

#include "contender.h"

static void stock_init(void *queue)
{
	timerqueue_linked_init_head(queue);
}

static bool stock_add(void *queue, struct hrtimer *timer)
{
	return timerqueue_linked_add(queue, &timer->node);
}

static bool stock_del(void *queue, struct hrtimer *timer)
{
	return timerqueue_linked_del(queue, &timer->node);
}

static struct hrtimer *stock_first(void *queue, u8 threshold)
{
	struct timerqueue_linked_node *node = timerqueue_linked_first(queue);

	return node ? container_of(node, struct hrtimer, node) : NULL;
}

static struct hrtimer *stock_highest(void *queue, ktime_t now, u8 threshold)
{
	struct timerqueue_linked_node *node = timerqueue_linked_first(queue);

	if (!node || node->expires > now)
		return NULL;
	return container_of(node, struct hrtimer, node);
}

#define PREFIX	stock
#include "batches.h"

const struct contender stock_contender = {
	.name		= "timerqueue",
	.size		= sizeof(struct timerqueue_linked_head),
	.levels		= false,
	CONTENDER_FUNCTIONS,
};
