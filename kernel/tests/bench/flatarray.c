// SPDX-License-Identifier: GPL-2.0-only
/*
 * One rb-tree per level, a flat array of their earliest expiries, and a bitmap
 * of the levels in use: the shortest code, and linear in the levels in use.
 */

#include <string.h>

#include "contender.h"

#define WORDS	(MAX_LEVELS / 64)

struct flatarray_queue {
	u64 in_use[WORDS];
	ktime_t expires[MAX_LEVELS];
	struct timerqueue_head level[MAX_LEVELS];
};

static void flatarray_init(void *_queue)
{
	struct flatarray_queue *queue = _queue;

	memset(queue->in_use, 0, sizeof(queue->in_use));
	for (int i = 0; i < MAX_LEVELS; i++)
		timerqueue_init_head(&queue->level[i]);
}

static bool is_empty(const struct flatarray_queue *queue)
{
	u64 any = 0;

	for (int word = 0; word < WORDS; word++)
		any |= queue->in_use[word];
	return !any;
}

static struct hrtimer *earliest_of(struct flatarray_queue *queue, int level)
{
	return container_of(timerqueue_getnext(&queue->level[level]),
			    struct hrtimer, node);
}

static noinline bool flatarray_add(void *_queue, struct hrtimer *timer)
{
	struct flatarray_queue *queue = _queue;
	u8 level = timer->level;

	if (!timerqueue_add(&queue->level[level], &timer->node))
		return false;
	queue->expires[level] = timer->node.expires;
	queue->in_use[level / 64] |= 1ull << (level % 64);
	/*
	 * Whether it is the earliest of all takes a scan, like every query;
	 * the caller asks with flatarray_first() when it needs to know.
	 */
	return true;
}

static noinline bool flatarray_del(void *_queue, struct hrtimer *timer)
{
	struct flatarray_queue *queue = _queue;
	u8 level = timer->level;
	struct timerqueue_head *head = &queue->level[level];
	bool earliest = timerqueue_getnext(head) == &timer->node;

	if (!timerqueue_del(head, &timer->node))
		queue->in_use[level / 64] &= ~(1ull << (level % 64));
	else if (earliest)
		queue->expires[level] = timerqueue_getnext(head)->expires;
	return !is_empty(queue);
}

static noinline struct hrtimer *flatarray_first(void *_queue, u8 threshold)
{
	struct flatarray_queue *queue = _queue;
	ktime_t min = INT64_MAX;
	int best = -1;

	for (int word = threshold / 64; word < WORDS; word++) {
		u64 bits = queue->in_use[word];

		if (word == threshold / 64)
			bits &= ~0ull << (threshold % 64);
		for (; bits; bits &= bits - 1) {
			int level = word * 64 + __builtin_ctzll(bits);

			if (queue->expires[level] < min) {
				min = queue->expires[level];
				best = level;
			}
		}
	}
	return best < 0 ? NULL : earliest_of(queue, best);
}

static noinline struct hrtimer *flatarray_highest(void *_queue, ktime_t now,
						  u8 threshold)
{
	struct flatarray_queue *queue = _queue;

	for (int word = WORDS - 1; word >= threshold / 64; word--) {
		u64 bits = queue->in_use[word];

		if (word == threshold / 64)
			bits &= ~0ull << (threshold % 64);
		while (bits) {
			int bit = 63 - __builtin_clzll(bits);

			if (queue->expires[word * 64 + bit] <= now)
				return earliest_of(queue, word * 64 + bit);
			bits &= ~(1ull << bit);
		}
	}
	return NULL;
}

#define PREFIX	flatarray
#include "batches.h"

const struct contender flatarray_contender = {
	.name		= "flat-array",
	.what		= "one rb-tree per level, array of minima, bitmap",
	.size		= sizeof(struct flatarray_queue),
	.levels		= true,
	.level_offset	= offsetof(struct hrtimer, level),
	CONTENDER_FUNCTIONS,
};
