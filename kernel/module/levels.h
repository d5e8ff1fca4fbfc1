/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TIMERSHIELD_LEVELS_H
#define TIMERSHIELD_LEVELS_H

#include <linux/compiler.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/sched/prio.h>

/*
 * Levels of tasks, and of the timers that they arm. Fair tasks do not mask each other whatever
 * their weight, and the idle task masks nothing: all have the lowest level. FIFO and RR tasks of
 * priority P have level P + 1, SCHED_DEADLINE is above them. Level 0 is no level: a timer of the
 * kernel.
 */
#define TIMERSHIELD_ORDINARY	1
#define TIMERSHIELD_REALTIME	2
#define TIMERSHIELD_DEADLINE	(MAX_RT_PRIO + 1)

/* @prio: task_struct::prio, with what the task has inherited, or ::normal_prio */
static __always_inline u8 timershield_prio_level(int prio)
{
	/* The priority of a deadline task is -1. */
	return max(MAX_RT_PRIO - prio, TIMERSHIELD_ORDINARY);
}

/* Leaves of the tree of minima */
#define TIMERSHIELD_LEVELS	128

/*
 * The earliest expiry (CLOCK_MONOTONIC) at each level: a binary tree, its root in [1], the
 * children of [i] in [2 * i] and [2 * i + 1]; KTIME_MAX if there is none. The kernel takes a timer
 * out of our queues without notice: a minimum may be too early, and is corrected when it is read.
 */
struct timershield_minima {
	ktime_t	first[2 * TIMERSHIELD_LEVELS];
};

#include "timershield_minima.h"

#endif
