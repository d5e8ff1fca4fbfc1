// SPDX-License-Identifier: GPL-2.0-only
/*
 * The paper's queue (TimerShield, RTAS 2017, section III): an array of
 * rb-trees, one per level, and a segment tree over their minima. Each node of
 * the segment tree holds the expiry itself beside the timer, so that neither
 * an update nor a query looks at a timer to compare it.
 *
 * The segment tree is the usual array: node 1 is the root, node i has the
 * children 2i and 2i+1, and level l is the leaf MAX_LEVELS + l.
 */

#include "contender.h"

struct minimum {
	ktime_t expires;
	struct hrtimer *timer;
};

struct segmenttree_queue {
	struct minimum node[2 * MAX_LEVELS];
	struct timerqueue_head level[MAX_LEVELS];
	unsigned int queued;
};

static const struct minimum nothing = { .expires = INT64_MAX };

static void segmenttree_init(void *_queue)
{
	struct segmenttree_queue *queue = _queue;

	for (int i = 0; i < MAX_LEVELS; i++)
		timerqueue_init_head(&queue->level[i]);
	for (int i = 0; i < 2 * MAX_LEVELS; i++)
		queue->node[i] = nothing;
	queue->queued = 0;
}

/* The earliest timer of @level changed: bring its ancestors up to date */
static void update_minimum(struct segmenttree_queue *queue, u8 level)
{
	struct timerqueue_node *earliest;
	struct minimum min = nothing;
	unsigned int i = MAX_LEVELS + level;

	earliest = timerqueue_getnext(&queue->level[level]);
	if (earliest) {
		min.expires = earliest->expires;
		min.timer = container_of(earliest, struct hrtimer, node);
	}

	queue->node[i] = min;
	for (; i > 1; i /= 2) {
		const struct minimum *sibling = &queue->node[i ^ 1];

		min = queue->node[i];
		if (sibling->expires < min.expires)
			min = *sibling;
		if (queue->node[i / 2].timer == min.timer &&
		    queue->node[i / 2].expires == min.expires)
			return;
		queue->node[i / 2] = min;
	}
}

static noinline bool segmenttree_add(void *_queue, struct hrtimer *timer)
{
	struct segmenttree_queue *queue = _queue;

	queue->queued++;
	if (!timerqueue_add(&queue->level[timer->level], &timer->node))
		return false;
	update_minimum(queue, timer->level);
	return queue->node[1].timer == timer;
}

static noinline bool segmenttree_del(void *_queue, struct hrtimer *timer)
{
	struct segmenttree_queue *queue = _queue;
	struct timerqueue_head *head = &queue->level[timer->level];
	bool earliest = timerqueue_getnext(head) == &timer->node;

	timerqueue_del(head, &timer->node);
	if (earliest)
		update_minimum(queue, timer->level);
	return --queue->queued;
}

/* Bottom-up: the right siblings of the way from the threshold's leaf */
static noinline struct hrtimer *segmenttree_first(void *_queue, u8 threshold)
{
	struct segmenttree_queue *queue = _queue;
	const struct minimum *min;
	unsigned int i;

	if (threshold >= MAX_LEVELS)
		return NULL;
	if (!threshold)
		return queue->node[1].timer;

	i = MAX_LEVELS + threshold;
	min = &queue->node[i];
	for (; i > 1; i /= 2) {
		if (!(i & 1) && queue->node[i + 1].expires < min->expires)
			min = &queue->node[i + 1];
	}
	return min->timer;
}

/* Top-down: right, to the higher levels, wherever something has expired */
static noinline struct hrtimer *segmenttree_highest(void *_queue, ktime_t now,
						    u8 threshold)
{
	struct segmenttree_queue *queue = _queue;
	unsigned int i = 1;

	if (queue->node[1].expires > now)
		return NULL;
	while (i < MAX_LEVELS)
		i = 2 * i + (queue->node[2 * i + 1].expires <= now);
	return i - MAX_LEVELS >= threshold ? queue->node[i].timer : NULL;
}

#define PREFIX	segmenttree
#include "batches.h"

const struct contender segmenttree_contender = {
	.name		= "segment-tree",
	.size		= sizeof(struct segmenttree_queue),
	.levels		= true,
	CONTENDER_FUNCTIONS,
};
