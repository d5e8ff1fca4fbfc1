// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the paper tried and rejected: a red-black tree for each level, and two binary-indexed
 * trees over the levels' first expiries (Dima and Ceterchi, 2015). A node names the level of
 * its range that expires first: in @below the range ends at the node, in @above it begins there.
 */
#include <linux/rbtree_augmented.h>

#include "contender.h"

#define LEVELS		128
#define timer_of(_rb)	rb_entry(_rb, struct hrtimer, HRTIMER_RB)

struct indexed {
	struct rb_root_cached queue[LEVELS];
	ktime_t first[LEVELS];		/* that of level 0 is never */
	u8 below[LEVELS], above[LEVELS];
};

static void indexed_init(void *_queue)
{
	struct indexed *queue = _queue;

	*queue = (struct indexed){ 0 };
	for (unsigned int level = 0; level < LEVELS; level++)
		queue->first[level] = KTIME_MAX;
}

static inline bool before(struct rb_node *a, const struct rb_node *b)
{
	return timer_of(a)->node.expires < timer_of(b)->node.expires;
}

static inline unsigned int width(unsigned int node)
{
	return node & -node;
}

static inline u8 earlier(const struct indexed *queue, u8 a, u8 b)
{
	return queue->first[b] < queue->first[a] ? b : a;
}

/*
 * A level's first expiry has changed. What the other levels of a node's range have is in nodes
 * without it: left of it in @below, right of it in @above. Both walks go on from node to node.
 */
static void update(struct indexed *queue, u8 level, ktime_t expires)
{
	unsigned int left = level - 1, right = level + 1, node;
	u8 best = level;

	queue->first[level] = expires;
	for (node = level; node < LEVELS; node += width(node)) {
		for (; left > node - width(node); left -= width(left))
			best = earlier(queue, best, queue->below[left]);
		for (; right < node; right += width(right))
			best = earlier(queue, best, queue->above[right]);
		best = earlier(queue, best, node);
		queue->below[node] = best;
	}
	left = level - 1;
	right = level + 1;
	best = level;
	for (node = level; node; node -= width(node)) {
		for (; left > node; left -= width(left))
			best = earlier(queue, best, queue->below[left]);
		for (; right < node + width(node) && right < LEVELS; right += width(right))
			best = earlier(queue, best, queue->above[right]);
		best = earlier(queue, best, node);
		queue->above[node] = best;
	}
}

/* The level at or above this one that expires first; 0: none */
static inline u8 earliest(const struct indexed *queue, unsigned int level)
{
	u8 best = 0;

	for (; level < LEVELS; level += width(level))
		best = earlier(queue, best, queue->above[level]);
	return best;
}

static struct hrtimer *first_of(struct indexed *queue, u8 level)
{
	return level ? timer_of(rb_first_cached(&queue->queue[level])) : NULL;
}

static noinline bool indexed_add(void *_queue, struct hrtimer *timer)
{
	struct indexed *queue = _queue;
	ktime_t expires = timer->node.expires;

	if (rb_add_cached(&timer->HRTIMER_RB, &queue->queue[timer->level], before))
		update(queue, timer->level, expires);
	return queue->first[earliest(queue, 1)] == expires;
}

static noinline bool indexed_del(void *_queue, struct hrtimer *timer)
{
	struct indexed *queue = _queue;
	struct rb_root_cached *tree = &queue->queue[timer->level];
	bool first = rb_first_cached(tree) == &timer->HRTIMER_RB;

	rb_erase_cached(&timer->HRTIMER_RB, tree);
	RB_CLEAR_NODE(&timer->HRTIMER_RB);
	if (first)
		update(queue, timer->level, rb_first_cached(tree) ?
		       timer_of(rb_first_cached(tree))->node.expires : KTIME_MAX);
	return earliest(queue, 1);
}

static noinline struct hrtimer *indexed_first(void *_queue, u8 threshold)
{
	struct indexed *queue = _queue;

	return first_of(queue, earliest(queue, threshold ? threshold : 1));
}

static noinline struct hrtimer *indexed_highest(void *_queue, ktime_t now, u8 threshold)
{
	struct indexed *queue = _queue;
	unsigned int level = LEVELS - 1;

	while (level && queue->first[level] > now) {
		if (queue->first[queue->below[level]] > now)
			level -= width(level);
		else
			level--;
	}
	return first_of(queue, level < threshold ? 0 : level);
}

#define PREFIX	indexed
#include "batches.h"

const struct contender indexed_contender = {
	.name		= "indexed",
	.size		= sizeof(struct indexed),
	.levels		= true,
	CONTENDER_FUNCTIONS,
};
