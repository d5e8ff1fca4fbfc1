/* SPDX-License-Identifier: GPL-2.0-only */
/* Levels, and what a CPU keeps for each of them. */
#ifndef TIMERSHIELD_TYPES_H
#define TIMERSHIELD_TYPES_H

#include <linux/compiler.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/sched/prio.h>

/*
 * Levels of tasks. Fair tasks do not mask each other whatever their weight, and
 * the idle task masks nothing: all have the lowest level. FIFO and RR tasks of
 * priority P have level P + 1, SCHED_DEADLINE is above them. Level 0 is no level:
 * a timer of the kernel.
 */
#define TIMERSHIELD_ORDINARY	1
#define TIMERSHIELD_DEADLINE	(MAX_RT_PRIO + 1)
/* Above all tasks: what a timer of the kernel counts as */
#define TIMERSHIELD_CRITICAL	U8_MAX

/**
 * timershield_prio_level - the level of a priority
 * @prio: task_struct::prio, with what the task has inherited, or ::normal_prio
 *
 * Return: TIMERSHIELD_ORDINARY to TIMERSHIELD_DEADLINE.
 */
static __always_inline u8 timershield_prio_level(int prio)
{
	/* The priority of a deadline task is -1. */
	return max(MAX_RT_PRIO - prio, TIMERSHIELD_ORDINARY);
}

/* The level of a task without inherited priorities: for what keeps its level */
#define timershield_own_level(p)	timershield_prio_level(READ_ONCE((p)->normal_prio))

/* Leaves of the tree of minima */
#define TIMERSHIELD_LEVELS	128
/* Clock bases of hrtimer */
#define TIMERSHIELD_CLOCKS	8

/* Callbacks that run in one go with interrupts disabled: of held timers, of others */
#define TIMERSHIELD_HELD_BATCH	8
#define TIMERSHIELD_BATCH	32
/* A tick expires no further held timer after this time, ns */
#define TIMERSHIELD_BUDGET	(20 * NSEC_PER_USEC)
/* Threads of a process that are looked at for the level of its timers */
#define TIMERSHIELD_THREADS	64
/* Timers that follow within the system call that changes a priority */
#define TIMERSHIELD_FOLLOWERS	1024

/**
 * struct timershield_seen - the levels of the tasks that looked at something lately
 * @level: the highest since the last event, and that before it
 *
 * What counts as an event is the owner's business: a level lasts until the second one.
 */
struct timershield_seen {
	u8	level[2];
};

static __always_inline u8 timershield_seen(const struct timershield_seen *seen)
{
	return max(seen->level[0], seen->level[1]);
}

static __always_inline void timershield_see(struct timershield_seen *seen, u8 level)
{
	seen->level[0] = max(seen->level[0], level);
}

static __always_inline void timershield_forget(struct timershield_seen *seen)
{
	seen->level[1] = seen->level[0];
	seen->level[0] = 0;
}

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
 * struct timershield_counters - what a CPU's shield has done
 * @masked:	Number of timers that expired while they were masked
 * @released:	How many of them expired because the threshold fell
 * @interrupts:	Number of interrupts that this took
 * @longest:	Longest time for which one was held, ns
 */
struct timershield_counters {
	u64	masked;
	u64	released;
	u64	interrupts;
	u64	longest;
};

/**
 * struct timershield_cpu - the timers of tasks on one CPU
 * @threshold:		Timers below this level are masked
 * @next_level:		Level of the timer that the clock event device is set
 *			for; TIMERSHIELD_CRITICAL for a timer of the kernel
 * @tick:		The tick has run in this interrupt: timers that were held
 *			for a tick are due. Local to the CPU.
 * @clock_seq:		hrtimer_cpu_base::clock_was_set_seq that @minima is up to
 *			date with
 * @realtime:		Offset of CLOCK_REALTIME that @minima is up to date with
 * @fell:		When the device was set for timers that had expired, because
 *			@threshold fell: until all that is due has expired, those
 *			that expired before have been masked
 * @hold:		Where the tick is stopped: held timers expire from then on
 * @minima:		Of the timers that expire in the interrupt, and in the softirq
 * @clock_set:		When a clock was set, but not in each tick: what has expired by
 *			that has been held only since then
 * @oldest:		The tick expires next what has been held longest, else the
 *			highest
 * @clocks:		For each level a bitmask of the clock bases that have timers
 * @counters:		For /proc/timershield
 *
 * Protected by the lock of the CPU's hrtimer_cpu_base. __timershield_switch()
 * reads @next_level and @minima without it: what it misses then, an interrupt or
 * the tick puts right.
 */
struct timershield_cpu {
	u8				threshold;
	u8				next_level;
	bool				tick;
	bool				oldest;
	u32				clock_seq;
	ktime_t				realtime;
	ktime_t				fell;
	ktime_t				hold;
	ktime_t				clock_set;
	struct timershield_minima	minima[2];
	u8				clocks[TIMERSHIELD_DEADLINE + 1];
	struct timershield_counters	counters;
};

/**
 * struct timershield_run - the timers of tasks that one interrupt expires
 * @now: the current time
 * @began: when the first was looked for
 * @floor: timers below this level are left for later
 * @level: the highest level of those that have expired
 * @nr: number of timers that have expired and had not been masked
 * @nr_held: number of those that had
 * @released: a timer that the threshold has released was among them
 * @fresh: the last of them had not been masked
 * @all: nothing that is due is left
 */
struct timershield_run {
	ktime_t	now;
	ktime_t	began;
	u8	floor;
	u8	level;
	u8	nr;
	u8	nr_held;
	bool	released;
	bool	fresh;
	bool	all;
};

#define TIMERSHIELD_NO_MINIMA	{ .first = { [0 ... 2 * TIMERSHIELD_LEVELS - 1] = KTIME_MAX } }
#define TIMERSHIELD_CPU_INIT	{						\
	.next_level	= TIMERSHIELD_CRITICAL,					\
	.minima		= { TIMERSHIELD_NO_MINIMA, TIMERSHIELD_NO_MINIMA },	\
}

#endif
