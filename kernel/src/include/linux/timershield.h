/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TimerShield: timers of lower-ranking tasks do not interrupt the running task
 *
 * A timer that a task armed has the level of that task. While a task runs, its
 * CPU masks the timers below the level of that task: it takes no interrupt for
 * them. They expire when the CPU switches to a task that does not outrank them,
 * or in the tick once they have been held for a tick. Timers of the kernel have
 * no level (0) and are never masked.
 *
 * See Documentation/timers/timershield.rst.
 */
#ifndef _LINUX_TIMERSHIELD_H
#define _LINUX_TIMERSHIELD_H

#include <linux/hrtimer.h>
#include <linux/jump_label.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/pid_types.h>
#include <linux/sched.h>
#include <linux/timershield_types.h>

struct file;
struct pid;

DECLARE_STATIC_KEY_FALSE(timershield_key);
DECLARE_PER_CPU(struct hrtimer_cpu_base, hrtimer_bases);

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
	return timershield_prio_level(READ_ONCE(p->prio));
}

void __timershield_switch(u8 level);

#ifdef CONFIG_TIMERSHIELD
#define timershield_threshold()	__this_cpu_read(hrtimer_bases.shield.threshold)
#else
#define timershield_threshold()	0
#endif

/**
 * timershield_switch - a CPU is about to run a task
 * @next: the task, also if it is the one that runs already
 *
 * A macro, because few who include this know struct hrtimer_cpu_base.
 *
 * Context: __schedule() with the runqueue lock held.
 */
#define timershield_switch(next)						\
	do {									\
		if (timershield_enabled()) {					\
			u8 __level = timershield_level(next);			\
										\
			if (__level != timershield_threshold())			\
				__timershield_switch(__level);			\
		}								\
	} while (0)

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

void __timershield_policy_changed(struct task_struct *p);

/**
 * timershield_policy_changed - a system call has changed the priority of a thread
 * @p: the thread; the timers that signal it or its process follow
 *
 * Context: task; no locks held.
 */
static inline void timershield_policy_changed(struct task_struct *p)
{
	if (IS_ENABLED(CONFIG_POSIX_TIMERS) && timershield_enabled())
		__timershield_policy_changed(p);
}

void hrtimer_change_level(struct hrtimer *timer, u8 level);

/**
 * hrtimer_raise_to - a task of a level waits for, or looks at, a timer
 * @timer: the timer; its level rises, and does not fall before it is armed again
 * @level: the level
 *
 * Context: any. The caller keeps others from arming the timer.
 */
static inline void hrtimer_raise_to(struct hrtimer *timer, u8 level)
{
	if (level > READ_ONCE(timer->level))
		hrtimer_change_level(timer, level);
}

/**
 * hrtimer_set_level - a timer is about to be armed for a task
 * @timer: the timer; must not be queued
 * @p: the task; a priority that it has inherited counts this time
 */
static inline void hrtimer_set_level(struct hrtimer *timer, const struct task_struct *p)
{
	if (timershield_enabled())
		timer->level = timershield_level(p);
}

/**
 * hrtimer_set_sleeper - the current task is about to arm the timer that ends its sleep
 * @sl: the timer, which follows the priority of the task
 */
static inline void hrtimer_set_sleeper(struct hrtimer_sleeper *sl)
{
	if (timershield_enabled()) {
		sl->timer.level = timershield_level(current);
		sl->timer.is_sleeper = true;
	}
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

#ifdef CONFIG_TIMERFD
void timerfd_raise(struct file *file, u8 level);
#else
static inline void timerfd_raise(struct file *file, u8 level) { }
#endif

u8 timershield_process_level(struct task_struct *p);
u8 timershield_pid_level(struct pid *pid, enum pid_type type);

#endif /* _LINUX_TIMERSHIELD_H */
