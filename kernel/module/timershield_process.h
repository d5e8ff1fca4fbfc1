/* SPDX-License-Identifier: GPL-2.0-only */
/* The level of a process. To be included after timershield_types.h. */
#ifndef TIMERSHIELD_PROCESS_H
#define TIMERSHIELD_PROCESS_H

#include <linux/rcupdate.h>
#include <linux/sched/signal.h>

/**
 * timershield_threads_level - the level of a timer that is armed for a process
 * @p: one of its threads
 *
 * Return: the level of the thread, or the highest among the first threads of the
 * process if that is higher. A thread that this misses costs a tick, but never the one
 * that arms the timer: it counts wherever it stands, with a priority that it has
 * inherited. Those of others do not count.
 */
static inline u8 timershield_threads_level(struct task_struct *p)
{
	unsigned int nr = TIMERSHIELD_THREADS;
	struct task_struct *thread;
	u8 level = timershield_own_level(p);

	if (same_thread_group(p, current))
		level = max(level, timershield_prio_level(READ_ONCE(current->prio)));
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

#endif
