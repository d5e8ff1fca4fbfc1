// SPDX-License-Identifier: GPL-2.0-only
/*
 * TimerShield: timers that signal a process rank with its threads
 *
 * A signal to a process reaches whichever of its threads takes it, so its timers
 * rank with the highest-ranking one, by normal priorities: inheritance ends
 * before a timer does. That level is kept in signal->timershield_level, which is
 * protected by siglock. Within siglock timers' base locks may be taken.
 */
#include <linux/sched/signal.h>
#include <linux/timershield.h>

#include "posix-timers.h"

/* No thread ranks higher than the highest did before: one that does as high is enough. */
static u8 highest_level(struct signal_struct *signal)
{
	u8 level = TIMERSHIELD_LEVEL_NONE;
	struct task_struct *p;

	__for_each_thread(signal, p) {
		level = max(level, timershield_normal_level(p));
		if (level >= signal->timershield_level)
			break;
	}
	return level;
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
 * Context: process. Takes siglock, for a time proportional to the number of
 * POSIX timers of the process and, where the highest level has fallen, of its
 * threads.
 */
void timershield_policy_changed(struct task_struct *p, u8 old_level)
{
	u8 level = timershield_normal_level(p);
	struct signal_struct *signal;
	unsigned long flags;

	if (!lock_task_sighand(p, &flags))
		return;
	signal = p->signal;
	if (level >= signal->timershield_level)
		WRITE_ONCE(signal->timershield_level, level);
	else if (old_level >= signal->timershield_level)
		WRITE_ONCE(signal->timershield_level, highest_level(signal));
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

	/* Most threads are ordinary: nothing ranks lower but SCHED_IDLE. */
	if (level <= TIMERSHIELD_LEVEL_FAIR || level < signal->timershield_level ||
	    list_empty(&signal->thread_head))
		return;
	WRITE_ONCE(signal->timershield_level, highest_level(signal));
}
