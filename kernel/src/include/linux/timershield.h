/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TimerShield: timers of lower-ranking tasks do not interrupt the running task
 *
 * A timer that a task armed has the level of that task. While a task runs, its
 * CPU masks the timers below the level of that task: it takes no interrupt for
 * them. They expire when the CPU switches to a task that does not outrank them,
 * or in the tick once they have been held for a tick. Timers of the kernel have
 * level 0 and are never masked.
 *
 * See Documentation/timers/timershield.rst.
 */
#ifndef _LINUX_TIMERSHIELD_H
#define _LINUX_TIMERSHIELD_H

#include <linux/cache.h>
#include <linux/hrtimer_types.h>
#include <linux/jump_label.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/pid_types.h>
#include <linux/rbtree_types.h>
#include <linux/sched.h>
#include <linux/sched/prio.h>

struct pid;

/*
 * Levels of tasks. Fair tasks do not mask each other whatever their weight, and
 * the idle task masks nothing: all have the lowest level. FIFO and RR tasks of
 * priority P have level P + 1, SCHED_DEADLINE is above them.
 */
#define TIMERSHIELD_FAIR	1
#define TIMERSHIELD_DEADLINE	(MAX_RT_PRIO + 1)
/* Above all tasks: what a timer of the kernel counts as */
#define TIMERSHIELD_CRITICAL	U8_MAX

#define TIMERSHIELD_QUEUES	8	/* one for each hrtimer clock base */

/**
 * struct timershield_cpu - the timers of tasks on one CPU
 * @threshold:		Timers below this level are masked
 * @next_level:		Level of the timer that the clock event device is set
 *			for; TIMERSHIELD_CRITICAL for a timer of the kernel
 * @active:		Bitmask of queues that have timers
 * @tick:		The tick has run in this interrupt: timers that were held
 *			for a tick are due. Local to the CPU.
 * @hidden:		No timer that is masked expires before this time, hard
 *			and soft (CLOCK_MONOTONIC), nor before the event that the
 *			device is set for, whichever is first
 * @fell:		When @threshold fell and the device was set for it: until
 *			all that is due has expired, timers that expired before
 *			have been masked
 * @queue:		Timers of each clock base, ordered by expiry, augmented
 *			with the highest level in each subtree
 * @masked:		Number of timers that expired while they were masked
 * @released:		How many of them expired because the threshold fell
 * @interrupts:		Number of interrupts that this took
 * @longest:		Longest time for which one was held, ns
 *
 * Protected by the lock of the CPU's hrtimer_cpu_base. __timershield_switch()
 * reads @next_level and @hidden without it: what it misses then, an interrupt
 * or the tick puts right.
 */
struct timershield_cpu {
	u8			threshold;
	u8			next_level;
	u8			active;
	bool			tick;
	ktime_t			hidden[2];
	ktime_t			fell;
	struct rb_root_cached	queue[TIMERSHIELD_QUEUES];
	u64			masked;
	u64			released;
	u64			interrupts;
	u64			longest;
} ____cacheline_aligned;

DECLARE_STATIC_KEY_FALSE(timershield_key);
DECLARE_PER_CPU(struct timershield_cpu, timershield_cpus);

/* Is the shield on, or are there still timers in its queues? */
static __always_inline bool timershield_enabled(void)
{
	return IS_ENABLED(CONFIG_TIMERSHIELD) && static_branch_unlikely(&timershield_key);
}

/**
 * timershield_level - the level of a task
 * @p: the task, with the priority that it may have inherited
 *
 * Context: any; a stable answer needs the runqueue lock.
 * Return: TIMERSHIELD_FAIR to TIMERSHIELD_DEADLINE.
 */
static __always_inline u8 timershield_level(const struct task_struct *p)
{
	/* The priority of a deadline task is -1. */
	return max(MAX_RT_PRIO - READ_ONCE(p->prio), TIMERSHIELD_FAIR);
}

void __timershield_switch(u8 level);

/**
 * timershield_switch - a CPU is about to run a task
 * @next: the task, also if it is the one that runs already
 *
 * Context: __schedule() with the runqueue lock held.
 */
static __always_inline void timershield_switch(const struct task_struct *next)
{
	if (timershield_enabled()) {
		u8 level = timershield_level(next);

		if (level != this_cpu_read(timershield_cpus.threshold))
			__timershield_switch(level);
	}
}

bool __timershield_prio_changed(struct task_struct *p, int running_on);

/**
 * timershield_prio_changed - the priority of a task has changed
 * @p: the task
 * @running_on: the CPU that runs it, -1 if none does
 *
 * Context: runqueue lock of @p held.
 * Return: whether that CPU has to reschedule to release timers.
 */
static __always_inline bool timershield_prio_changed(struct task_struct *p, int running_on)
{
	return timershield_enabled() && __timershield_prio_changed(p, running_on);
}

void __hrtimer_raise_level(struct hrtimer *timer, u8 level);

/**
 * hrtimer_raise_level - the current task waits for, or looks at, a timer
 * @timer: the timer; its level rises to that of the task and does not fall
 *
 * A timer that is armed next starts at this level, too.
 *
 * Context: any. The caller keeps others from arming the timer.
 */
static inline void hrtimer_raise_level(struct hrtimer *timer)
{
	if (timershield_enabled() && timershield_level(current) > READ_ONCE(timer->level))
		__hrtimer_raise_level(timer, timershield_level(current));
}

/**
 * hrtimer_set_level - the current task is about to arm a timer for itself
 * @timer: the timer; must not be queued
 */
static inline void hrtimer_set_level(struct hrtimer *timer)
{
	if (timershield_enabled())
		timer->level = timershield_level(current);
}

bool __hrtimer_claim_held(struct hrtimer *timer);

/**
 * hrtimer_claim_held - cancel a timer that has expired but is held
 * @timer: the timer
 *
 * To a task that looks, a timer has expired when its time has come. The caller
 * must then do what the callback would have done.
 *
 * Context: any. The caller keeps others from arming the timer.
 * Return: true if the timer had expired and its callback will not run.
 */
static inline bool hrtimer_claim_held(struct hrtimer *timer)
{
	return timershield_enabled() && READ_ONCE(timer->queued_level) &&
	       __hrtimer_claim_held(timer);
}

u8 timershield_pid_level(struct pid *pid, enum pid_type type);

#endif /* _LINUX_TIMERSHIELD_H */
