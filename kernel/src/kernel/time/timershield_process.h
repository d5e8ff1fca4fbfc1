/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The level of a process. The module for stock kernels uses this file, too. To be
 * included after timershield_types.h.
 */
#ifndef _KERNEL_TIME_TIMERSHIELD_PROCESS_H
#define _KERNEL_TIME_TIMERSHIELD_PROCESS_H

#include <linux/rcupdate.h>
#include <linux/sched/signal.h>

/* The level of a task without inherited priorities: for timers that keep their level. */
static __always_inline u8 timershield_own_level(const struct task_struct *p)
{
	return timershield_prio_level(READ_ONCE(p->normal_prio));
}

/**
 * timershield_threads_level - the level of a timer that is armed for a process
 * @p: one of its threads
 *
 * Priorities that threads have inherited do not count: the timer keeps the level.
 *
 * Return: the level of the thread, or the highest among the first threads of the
 * process if that is higher. A thread that this misses costs a tick.
 */
static inline u8 timershield_threads_level(struct task_struct *p)
{
	unsigned int nr = TIMERSHIELD_THREADS;
	struct task_struct *thread;
	u8 level = timershield_own_level(p);

	if (thread_group_empty(p))
		return level;
	rcu_read_lock();
	for_each_thread(p, thread) {
		level = max(level, timershield_own_level(thread));
		if (!--nr)
			break;
	}
	rcu_read_unlock();
	return level;
}

#endif /* _KERNEL_TIME_TIMERSHIELD_PROCESS_H */
