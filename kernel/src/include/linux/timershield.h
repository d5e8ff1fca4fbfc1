/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TimerShield: the timers of ordinary tasks do not interrupt real-time tasks
 *
 * A timer that a task arms has the level of that task. While a real-time task
 * runs, its CPU masks the timers of ordinary ones: it takes no interrupt for
 * them. They expire when the CPU switches to an ordinary task, or in the tick
 * once they have been held for a tick. Timers of the kernel have no level (0)
 * and are never masked.
 *
 * CPU:    threshold T: the level of what runs; an interrupt that has woken a
 *         real-time task raises it until the switch. The device is set for the
 *         first timer that is not masked.
 * timer:  armed, level >= T  --due-->  expires
 *         armed, level <  T  --due-->  held  --T falls-->              released
 *                                            --tick, held >= 1 tick--> expires
 * events: switch (T := level of the next task), priority change, arm, cancel,
 *         clock set, CPU down and switch off (T := 0)
 *
 * See Documentation/timers/timershield.rst.
 */
#ifndef _LINUX_TIMERSHIELD_H
#define _LINUX_TIMERSHIELD_H

#include <linux/hrtimer.h>
#include <linux/jump_label.h>
#include <linux/minmax.h>
#include <linux/pid_types.h>
#include <linux/sched.h>
#include <linux/sched/prio.h>

struct file;
struct pid;

/* Levels of tasks. Level 0 is no level: a timer of the kernel. */
#define TIMERSHIELD_ORDINARY	1
#define TIMERSHIELD_REALTIME	2

DECLARE_STATIC_KEY_FALSE(timershield_key);

static __always_inline bool timershield_enabled(void)
{
	return IS_ENABLED(CONFIG_TIMERSHIELD) && static_branch_unlikely(&timershield_key);
}

/**
 * timershield_prio_level - the level of a priority
 * @prio: task_struct::prio, with what the task has inherited, or ::normal_prio
 */
static __always_inline u8 timershield_prio_level(int prio)
{
	return prio < MAX_RT_PRIO ? TIMERSHIELD_REALTIME : TIMERSHIELD_ORDINARY;
}

/* The level of a task. Context: any; a stable answer needs the runqueue lock. */
static __always_inline u8 timershield_level(const struct task_struct *p)
{
	return timershield_prio_level(READ_ONCE(p->prio));
}

/* On PREEMPT_RT: the priority of the thread that expires soft timers on a CPU */
int hrtimer_softirq_prio(unsigned int cpu);

/*
 * While a CPU runs the task: timers below this level are masked. It is one higher if the task keeps
 * the thread that expires soft timers from running: then these are masked, too.
 */
static __always_inline u8 timershield_masks(const struct task_struct *p)
{
	int prio = READ_ONCE(p->prio);
	bool soft = IS_ENABLED(CONFIG_PREEMPT_RT) && prio < MAX_RT_PRIO &&
		    prio < hrtimer_softirq_prio(task_cpu(p));

	return timershield_prio_level(prio) + soft;
}

/* The level without inherited priorities: for what keeps its level */
static __always_inline u8 timershield_own_level(const struct task_struct *p)
{
	return timershield_prio_level(READ_ONCE(p->normal_prio));
}

/* Timers or items of a set that follow within the system call that changes a level */
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

void __timershield_switch(u8 level);
void __timershield_release(const struct task_struct *p);
bool timershield_prio_changed(const struct task_struct *p, int cpu);
bool sched_realtime_runnable(void);
void hrtimer_follow(struct task_struct *p);
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
	return timershield_enabled() && READ_ONCE(timer->level) && hrtimer_is_queued(timer) &&
	       __hrtimer_claim_held(timer);
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

#ifdef CONFIG_TIMERFD
void timerfd_raise(struct file *file, u8 level);
#else
static inline void timerfd_raise(struct file *file, u8 level) { }
#endif

u8 timershield_process_level(struct task_struct *p);
u8 timershield_pid_level(struct pid *pid, enum pid_type type);

#endif /* _LINUX_TIMERSHIELD_H */
