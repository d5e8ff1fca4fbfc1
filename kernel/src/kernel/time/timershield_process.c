// SPDX-License-Identifier: GPL-2.0-only
/*
 * TimerShield: timers that signal a process rank with its threads
 *
 * A signal to a process reaches whichever of its threads takes it, so its timers
 * rank with the highest-ranking one, by normal priorities: inheritance ends
 * before a timer does. That level is kept in signal->timershield_level, which is
 * written with siglock held. Within siglock timers' base locks may be taken.
 */
#include <linux/sched/signal.h>
#include <linux/timershield.h>

#include "posix-timers.h"

/* The highest level of a thread. None is above @most, so one that has it is enough. */
static u8 highest_level(struct signal_struct *signal, u8 most)
{
	u8 level = TIMERSHIELD_LEVEL_NONE;
	struct task_struct *p;

	__for_each_thread(signal, p) {
		level = max(level, timershield_normal_level(p));
		if (level >= most)
			break;
	}
	return level;
}

/**
 * timershield_keep_process_level - a process gets a timer, perhaps its first
 * @signal: the process's; siglock is held
 *
 * Keep the level of its highest-ranking thread from now on. That of processes
 * without timers is not kept: their priorities change without taking siglock.
 *
 * Takes a time proportional to the number of threads, the first time.
 */
void timershield_keep_process_level(struct signal_struct *signal)
{
	if (likely(signal->timershield_level))
		return;
	/* Priorities are read afterwards. Pairs with timershield_policy_changed(). */
	smp_store_mb(signal->timershield_level, TIMERSHIELD_LEVEL_IDLE);
	WRITE_ONCE(signal->timershield_level,
		   highest_level(signal, TIMERSHIELD_LEVEL_DEADLINE));
}

/**
 * timershield_keep_level - the current process is about to get a timer of another kind
 *
 * Context: process. Takes siglock, the first time.
 */
void timershield_keep_level(void)
{
	if (likely(timershield_process_level(current->signal)))
		return;
	spin_lock_irq(&current->sighand->siglock);
	timershield_keep_process_level(current->signal);
	spin_unlock_irq(&current->sighand->siglock);
}

static void update_timers(struct signal_struct *signal)
{
#ifdef CONFIG_POSIX_TIMERS
	if (signal->real_timer.owner == TIMERSHIELD_OWNER_TASKS)
		timershield_own_update(&signal->real_timer, timershield_process_level(signal));
	posix_timers_update_level(signal);
#endif
}

/**
 * timershield_policy_changed - a thread has been given another policy or priority
 * @p: the thread
 * @old_level: its level before, without inheritance
 *
 * Timers that signal it, or its process, follow.
 *
 * Context: process. Takes siglock if the process has timers, for a time
 * proportional to the number of these and, where the highest level has fallen, of
 * its threads.
 */
void timershield_policy_changed(struct task_struct *p, u8 old_level)
{
	struct signal_struct *signal = p->signal;
	unsigned long flags;
	u8 level, most;

	/* Pairs with timershield_keep_process_level(): that sees the change, or is seen here. */
	smp_mb();
	if (!timershield_process_level(signal) || !lock_task_sighand(p, &flags))
		return;
	level = timershield_normal_level(p);
	most = signal->timershield_level;
	if (level >= most)
		WRITE_ONCE(signal->timershield_level, level);
	else if (old_level >= most)
		WRITE_ONCE(signal->timershield_level, highest_level(signal, most));
	update_timers(signal);
	unlock_task_sighand(p, &flags);
}

/**
 * timershield_thread_exit - a thread has left its process
 * @p: the thread; siglock is held
 *
 * Timers sink when they are armed again.
 */
void timershield_thread_exit(struct task_struct *p)
{
	struct signal_struct *signal = p->signal;
	u8 level = timershield_normal_level(p);
	u8 most = signal->timershield_level;

	/* Most threads are ordinary: nothing ranks lower but SCHED_IDLE. */
	if (level <= TIMERSHIELD_LEVEL_FAIR || !most || level < most ||
	    list_empty(&signal->thread_head))
		return;
	WRITE_ONCE(signal->timershield_level, highest_level(signal, most));
}
