/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * shieldqueue: a timer queue that answers "which timer expires first at or
 * above a level"
 *
 * A shieldqueue is a timerqueue, one red-black tree ordered by expiry, whose
 * nodes also keep the highest level found in the subtree below them. A subtree
 * in which no timer reaches the threshold is skipped without being looked at,
 * so every query is one walk down the tree.
 *
 * It replaces the array of trees and the segment tree of TimerShield (Patel,
 * Vanga, Brandenburg: RTAS 2017, section III), needs no memory beyond two bytes in
 * struct hrtimer, and has no limit on the number of levels in use.
 *
 * Levels: a higher number is more important. Threshold T leaves out the levels
 * below T, so threshold 0 leaves out none, and level 255 is never left out.
 *
 * Expiries are in ns on the clock of the base that the queue belongs to.
 *
 * The queue does no locking and does not sleep. hrtimer calls it with the CPU
 * base's lock held and interrupts off. Any context that serializes calls will
 * do.
 *
 * shieldqueue and timerqueue functions may be mixed on one queue as follows.
 * Everything in timerqueue that only reads works at any time. A queue that
 * timerqueue_add() or timerqueue_del() changed must go through
 * shieldqueue_rebuild() before it is changed or asked with shieldqueue again.
 */
#ifndef _LINUX_SHIELDQUEUE_H
#define _LINUX_SHIELDQUEUE_H

#include <linux/hrtimer_types.h>
#include <linux/rbtree.h>
#include <linux/timerqueue_types.h>
#include <linux/types.h>

bool shieldqueue_add(struct timerqueue_head *head, struct hrtimer *timer);
bool shieldqueue_del(struct timerqueue_head *head, struct hrtimer *timer);
struct hrtimer *__shieldqueue_first(struct timerqueue_head *head, u8 threshold);
struct hrtimer *shieldqueue_next(struct hrtimer *timer, u8 threshold);
struct hrtimer *__shieldqueue_highest(struct timerqueue_head *head,
				      ktime_t now, u8 threshold);
void shieldqueue_set_level(struct timerqueue_head *head, struct hrtimer *timer,
			   u8 level);
void shieldqueue_rebuild(struct timerqueue_head *head);

/* The timer that @node is part of, NULL for NULL */
static inline struct hrtimer *shieldqueue_entry(struct rb_node *node)
{
	return rb_entry_safe(node, struct hrtimer, node.node);
}

/**
 * shieldqueue_first - The earliest timer at or above a level
 * @head:	the queue
 * @threshold:	the lowest level that counts
 *
 * Among equal expiries it is the one added first. Constant time when the
 * earliest timer of all is eligible, else O(log n).
 *
 * Return: the timer, or NULL when no timer reaches @threshold.
 */
static inline struct hrtimer *shieldqueue_first(struct timerqueue_head *head,
						u8 threshold)
{
	struct hrtimer *first;

	first = shieldqueue_entry(rb_first_cached(&head->rb_root));
	if (!first || first->level >= threshold)
		return first;
	return __shieldqueue_first(head, threshold);
}

/*
 * The node after the leftmost. That has nothing on its left, so what is on its
 * right can only be a single (red) node.
 */
static inline struct rb_node *shieldqueue_second(const struct rb_node *leftmost)
{
	return leftmost->rb_right ?: rb_parent(leftmost);
}

/**
 * shieldqueue_expired_after - May there be other expired timers?
 * @head:	the queue
 * @timer:	a timer of the queue, of all that are eligible the earliest
 * @now:	the time, on the queue's clock, in ns
 *
 * A timer counts as expired from its soft expiry on. Constant time.
 *
 * Return: false if the timer after @timer has not expired, or there is none.
 * True if it has, or if @timer is not the earliest of all levels.
 */
static inline bool shieldqueue_expired_after(struct timerqueue_head *head,
					     struct hrtimer *timer, ktime_t now)
{
	struct hrtimer *second;

	if (rb_first_cached(&head->rb_root) != &timer->node.node)
		return true;
	second = shieldqueue_entry(shieldqueue_second(&timer->node.node));
	return second && second->_softexpires <= now;
}

/**
 * shieldqueue_highest - The expired timer to serve next
 * @head:	the queue
 * @now:	the time, on the queue's clock, in ns
 * @threshold:	the lowest level that counts
 *
 * Among equal levels it is the earliest expiry, among equal expiries the one
 * added first. Constant time when nothing has expired, else O(log n).
 *
 * Return: of the timers that expire at @now or before, the one of the highest
 * level, or NULL when none of them reaches @threshold.
 */
static inline struct hrtimer *shieldqueue_highest(struct timerqueue_head *head,
						  ktime_t now, u8 threshold)
{
	struct hrtimer *first;

	first = shieldqueue_entry(rb_first_cached(&head->rb_root));
	if (!first || first->node.expires > now)
		return NULL;
	return __shieldqueue_highest(head, now, threshold);
}

#endif /* _LINUX_SHIELDQUEUE_H */
