// SPDX-License-Identifier: GPL-2.0-only
/*
 * The mirror image of shieldqueue: one rb-tree ordered by level, highest
 * first, then by expiry, with the earliest expiry of each subtree. Equal
 * levels lie together, so the expired timer to serve next is the first in
 * order that has expired; the earliest timer of all is no longer leftmost.
 */

#include <linux/rbtree_augmented.h>

#include "contender.h"

#define to_bench(_rb)	rb_entry((_rb), struct bench_timer, timer.node.node)

static inline ktime_t expires_of(struct rb_node *rb)
{
	return to_bench(rb)->timer.node.expires;
}

static inline ktime_t subtree_min_of(struct rb_node *rb)
{
	return rb ? to_bench(rb)->subtree_min : INT64_MAX;
}

static inline bool compute_subtree_min(struct bench_timer *timer, bool exit)
{
	struct rb_node *rb = &timer->timer.node.node;
	ktime_t min = timer->timer.node.expires;

	if (subtree_min_of(rb->rb_left) < min)
		min = subtree_min_of(rb->rb_left);
	if (subtree_min_of(rb->rb_right) < min)
		min = subtree_min_of(rb->rb_right);
	if (exit && timer->subtree_min == min)
		return true;
	timer->subtree_min = min;
	return false;
}

RB_DECLARE_CALLBACKS(static, subtree_min_callbacks, struct bench_timer,
		     timer.node.node, subtree_min, compute_subtree_min)

static void minaugmented_init(void *queue)
{
	*(struct rb_root *)queue = RB_ROOT;
}

static noinline bool minaugmented_add(void *queue, struct hrtimer *timer)
{
	struct rb_root *root = queue;
	struct rb_node **link = &root->rb_node;
	struct rb_node *parent = NULL;
	ktime_t expires = timer->node.expires;
	bool earliest = expires < subtree_min_of(root->rb_node);
	int level = timer->level;

	while (*link) {
		struct bench_timer *above = to_bench(*link);

		parent = *link;
		if (expires < above->subtree_min)
			above->subtree_min = expires;
		if (level > above->timer.level ||
		    (level == above->timer.level && expires < expires_of(parent)))
			link = &parent->rb_left;
		else
			link = &parent->rb_right;
	}

	to_bench(&timer->node.node)->subtree_min = expires;
	rb_link_node(&timer->node.node, parent, link);
	rb_insert_augmented(&timer->node.node, root, &subtree_min_callbacks);
	return earliest;
}

static noinline bool minaugmented_del(void *queue, struct hrtimer *timer)
{
	struct rb_root *root = queue;

	rb_erase_augmented(&timer->node.node, root, &subtree_min_callbacks);
	RB_CLEAR_NODE(&timer->node.node);
	return !RB_EMPTY_ROOT(root);
}

static noinline struct hrtimer *minaugmented_first(void *queue, u8 threshold)
{
	struct rb_node *rb = ((struct rb_root *)queue)->rb_node;
	struct rb_node *best = NULL;
	ktime_t min = INT64_MAX;

	/* Left of the border between the levels lies all that is eligible. */
	while (rb) {
		if (to_bench(rb)->timer.level < threshold) {
			rb = rb->rb_left;
			continue;
		}
		if (subtree_min_of(rb->rb_left) < min) {
			best = rb->rb_left;
			min = subtree_min_of(best);
		}
		if (expires_of(rb) < min) {
			best = rb;
			min = expires_of(rb);
		}
		rb = rb->rb_right;
	}
	if (!best)
		return NULL;

	while (expires_of(best) != min) {
		if (subtree_min_of(best->rb_left) == min)
			best = best->rb_left;
		else
			best = best->rb_right;
	}
	return &to_bench(best)->timer;
}

static noinline struct hrtimer *minaugmented_highest(void *queue, ktime_t now,
						     u8 threshold)
{
	struct rb_node *rb = ((struct rb_root *)queue)->rb_node;

	if (!rb || subtree_min_of(rb) > now)
		return NULL;
	for (;;) {
		if (rb->rb_left && subtree_min_of(rb->rb_left) <= now) {
			rb = rb->rb_left;
			continue;
		}
		if (expires_of(rb) <= now)
			break;
		rb = rb->rb_right;
	}
	if (to_bench(rb)->timer.level < threshold)
		return NULL;
	return &to_bench(rb)->timer;
}

#define PREFIX	minaugmented
#include "batches.h"

const struct contender minaugmented_contender = {
	.name		= "min-augmented",
	.what		= "one rb-tree by level, earliest expiry of each subtree",
	.size		= sizeof(struct rb_root),
	.levels		= true,
	.level_offset	= offsetof(struct hrtimer, level),
	CONTENDER_FUNCTIONS,
};
