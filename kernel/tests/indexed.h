/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the paper tried and rejected: a red-black tree for each level, and two binary-indexed
 * trees over the levels' first expiries (Dima and Ceterchi, 2015). A node names the level of
 * its range that expires first: in @below the range ends at the node, in @above it begins there.
 */
#ifndef INDEXED_H
#define INDEXED_H

#include <linux/hrtimer_bases.h>

#define LEVELS		128

struct indexed {
	struct timerqueue_linked_head queue[LEVELS];
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

static void indexed_add(void *_queue, struct hrtimer *timer)
{
	struct indexed *queue = _queue;

	if (timerqueue_linked_add(&queue->queue[timer->level], &timer->node))
		update(queue, timer->level, timer->node.expires);
}

static void indexed_del(void *_queue, struct hrtimer *timer)
{
	struct indexed *queue = _queue;
	struct timerqueue_linked_head *tree = &queue->queue[timer->level];
	bool first = !timerqueue_linked_prev(&timer->node);
	bool more = timerqueue_linked_del(tree, &timer->node);

	if (first)
		update(queue, timer->level, more ? timerqueue_linked_first(tree)->expires :
						   KTIME_MAX);
}

static struct hrtimer *indexed_first(void *_queue, u8 threshold)
{
	struct indexed *queue = _queue;
	u8 level = earliest(queue, threshold);

	return level ? container_of(timerqueue_linked_first(&queue->queue[level]), struct hrtimer,
				    node) : NULL;
}

#endif /* INDEXED_H */
