/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TimerShield: what kernel/time/ shares
 */
#ifndef _KERNEL_TIME_TIMERSHIELD_INTERNAL_H
#define _KERNEL_TIME_TIMERSHIELD_INTERNAL_H

#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/timershield.h>

#ifdef CONFIG_TIMERSHIELD

/**
 * struct timershield_stats - what the shield did on one CPU
 * @masked:	how often a timer was passed over in favour of a later one
 *		because it was masked
 * @released:	timers that expired while masked and were served afterwards
 * @avoided:	interrupts that these did not cause: one for each, less those
 *		that served them
 * @longest_hold: the longest time from expiry to service of such a timer, ns
 * @taken:	timers taken over from CPUs that masked them
 *
 * Written with the CPU's hrtimer base lock held, read without.
 */
struct timershield_stats {
	u64	masked;
	u64	released;
	u64	avoided;
	u64	longest_hold;
	u64	taken;
};

DECLARE_PER_CPU(struct timershield_stats, timershield_stats);

static inline void timershield_count_masked(unsigned int cpu)
{
	per_cpu(timershield_stats, cpu).masked++;
}

struct signal_struct;

bool timershield_is_on(void);
void timershield_count_released(struct hrtimer *timer, ktime_t held, unsigned int nr);

/* In hrtimer.c: switch this CPU's shield. Interrupts disabled. */
void hrtimer_shield_on(void *unused);
void hrtimer_shield_off(void *unused);

/* The task that a sleeper's timer wakes, NULL for other timers */
static inline struct task_struct *timershield_sleeper(struct hrtimer *timer)
{
	if (timer->owner != TIMERSHIELD_OWNER_SLEEPER)
		return NULL;
	return container_of(timer, struct hrtimer_sleeper, timer)->sleeper;
}

/**
 * timershield_timer_level - the level that a timer is to be queued at
 * @timer: the timer
 *
 * The one place that decides whose timer it is.
 *
 * Context: the timer cannot expire meanwhile: it is not enqueued yet, or the
 *	    lock of its base is held.
 */
static inline u8 timershield_timer_level(struct hrtimer *timer)
{
	const struct task_struct *task;

	if (timer->owner == TIMERSHIELD_OWNER_TASKS)
		return READ_ONCE(timer->owner_level);
	task = timershield_sleeper(timer);
	return task ? timershield_task_level(task) : TIMERSHIELD_LEVEL_CRITICAL;
}

#endif /* CONFIG_TIMERSHIELD */

#endif /* _KERNEL_TIME_TIMERSHIELD_INTERNAL_H */
