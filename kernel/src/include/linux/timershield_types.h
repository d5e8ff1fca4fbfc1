/* SPDX-License-Identifier: GPL-2.0-only */
/* TimerShield: what a CPU keeps of the timers of real-time tasks, if they are masked by level. */
#ifndef _LINUX_TIMERSHIELD_TYPES_H
#define _LINUX_TIMERSHIELD_TYPES_H

#include <linux/ktime.h>
#include <linux/rbtree_types.h>
#include <linux/sched/prio.h>

/* Leaves of the tree of minima */
#define TIMERSHIELD_LEVELS	128
/* The highest level, that of SCHED_DEADLINE */
#define TIMERSHIELD_DEADLINE	(MAX_RT_PRIO + 1)
/* From CLOCK_MONOTONIC to CLOCK_TAI, in the order of the clock bases */
#define TIMERSHIELD_CLOCKS	4

/**
 * struct timershield_minima - the earliest expiry at each level
 * @first:	A binary tree, its root in [1], the children of [i] in [2 * i] and
 *		[2 * i + 1]: the earliest expiry (CLOCK_MONOTONIC) among all
 *		levels below the node, KTIME_MAX if there is none
 */
struct timershield_minima {
	ktime_t	first[2 * TIMERSHIELD_LEVELS];
};

/**
 * struct hrtimer_levels - the timers of real-time tasks
 * @minima:	Of all levels
 * @clocks:	For each level a bitmask of the clocks that have timers
 * @queue:	For each level and clock
 */
struct hrtimer_levels {
	struct timershield_minima	minima;
	u8				clocks[TIMERSHIELD_DEADLINE + 1];
	struct rb_root_cached		queue[TIMERSHIELD_DEADLINE + 1][TIMERSHIELD_CLOCKS];
};

#endif /* _LINUX_TIMERSHIELD_TYPES_H */
