/* SPDX-License-Identifier: GPL-2.0-only */
/* TimerShield: the levels of timers, and of the tasks that arm them */
#ifndef _LINUX_TIMERSHIELD_TYPES_H
#define _LINUX_TIMERSHIELD_TYPES_H

#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/sched/prio.h>

/*
 * FIFO and RR tasks of priority P have level P + 1, SCHED_DEADLINE is above them. Level 0 is no
 * level: a timer of the kernel.
 */
#define TIMERSHIELD_ORDINARY	1
#define TIMERSHIELD_REALTIME	2
#define TIMERSHIELD_DEADLINE	(MAX_RT_PRIO + 1)
/* Leaves of the tree of minima */
#define TIMERSHIELD_LEVELS	128
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

/* The level of a task, by its ::prio or ::normal_prio. The priority of a deadline task is -1. */
static __always_inline unsigned int timershield_level(int prio)
{
	return max(MAX_RT_PRIO - prio, TIMERSHIELD_ORDINARY);
}

#endif /* _LINUX_TIMERSHIELD_TYPES_H */
