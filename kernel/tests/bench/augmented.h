/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A queue of timers with levels: a red-black tree ordered by expiry, in which each
 * node knows the highest level in its subtree. It answers in O(log n): which is
 * the first timer that is not below a level, and which of those that have expired
 * has the highest level.
 *
 * The kernel part had this queue before. The field subtree_level is added to struct hrtimer by
 * the Makefile.
 */
#ifndef BENCH_AUGMENTED_H
#define BENCH_AUGMENTED_H

#include <linux/hrtimer.h>
#include <linux/minmax.h>
#include <linux/rbtree_augmented.h>

#define timer_level(timer)	((timer)->queued_level)
#define to_hrtimer(rb)		rb_entry(rb, struct hrtimer, HRTIMER_RB)

RB_DECLARE_CALLBACKS_MAX(static, highest_level, struct hrtimer, HRTIMER_RB, u8, subtree_level,
			 timer_level)

static inline bool expires_before(struct rb_node *a, const struct rb_node *b)
{
	return hrtimer_get_expires(to_hrtimer(a)) < hrtimer_get_expires(to_hrtimer(b));
}

/* Queue a timer at a level, above 0. */
static inline void augmented_queue_add(struct rb_root_cached *queue, struct hrtimer *timer,
					 u8 level)
{
	timer->queued_level = level;
	timer->subtree_level = level;
	rb_add_augmented_cached(&timer->HRTIMER_RB, queue, expires_before, &highest_level);
}

/* Remove a timer; true if others remain. */
static inline bool augmented_queue_del(struct rb_root_cached *queue, struct hrtimer *timer)
{
	rb_erase_augmented_cached(&timer->HRTIMER_RB, queue, &highest_level);
	RB_CLEAR_NODE(&timer->HRTIMER_RB);
	timer->queued_level = 0;
	return !RB_EMPTY_ROOT(&queue->rb_root);
}

/* The first timer of a queue, which has one */
static inline struct hrtimer *leftmost(struct rb_root_cached *queue)
{
	return to_hrtimer(rb_first_cached(queue));
}

/* The first timer of a queue, which has one, that is not below @level; NULL if none is */
static inline struct hrtimer *first_at(struct rb_root_cached *queue, u8 level)
{
	struct rb_node *node = queue->rb_root.rb_node;

	if (leftmost(queue)->queued_level >= level)
		return leftmost(queue);
	if (to_hrtimer(node)->subtree_level < level)
		return NULL;
	for (;;) {
		while (node->rb_left && to_hrtimer(node->rb_left)->subtree_level >= level)
			node = node->rb_left;
		if (to_hrtimer(node)->queued_level >= level)
			return to_hrtimer(node);
		node = node->rb_right;
	}
}

/* The highest level among the timers of a queue that have expired; 0 if none has */
static inline u8 highest_expired(struct rb_root_cached *queue, ktime_t now)
{
	struct rb_node *node = queue->rb_root.rb_node;
	u8 level = 0;

	while (node) {
		struct hrtimer *timer = to_hrtimer(node);

		if (hrtimer_get_expires(timer) > now) {
			node = node->rb_left;
			continue;
		}
		level = max(level, timer->queued_level);
		if (node->rb_left)
			level = max(level, to_hrtimer(node->rb_left)->subtree_level);
		node = node->rb_right;
	}
	return level;
}

/* The timer of a queue, which has one, to expire now: the highest, not below @level */
static inline struct hrtimer *first_due(struct rb_root_cached *queue, u8 level, ktime_t now)
{
	struct hrtimer *timer = leftmost(queue);
	struct rb_node *next;

	/* As in the stock queues, none is due before the first. */
	if (now < hrtimer_get_softexpires(timer))
		return NULL;
	timer = first_at(queue, level);
	if (!timer || now < hrtimer_get_softexpires(timer))
		return NULL;
	next = rb_next(&timer->HRTIMER_RB);
	if (next && hrtimer_get_expires(to_hrtimer(next)) <= now &&
	    to_hrtimer(queue->rb_root.rb_node)->subtree_level > timer->queued_level) {
		level = highest_expired(queue, now);
		if (level > timer->queued_level)
			timer = first_at(queue, level);
	}
	return timer;
}

#endif /* BENCH_AUGMENTED_H */
