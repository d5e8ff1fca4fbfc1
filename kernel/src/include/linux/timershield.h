/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TimerShield: timers do not interrupt tasks that outrank their owner
 *
 * Every timer and every running task has a level. While a task runs, the
 * timers below its level are masked on its CPU: they cause no interrupt and
 * their callbacks wait until a task of their own level or below runs there, or
 * the CPU idles. See Documentation/timers/timershield.rst and Patel, Vanga,
 * Brandenburg, "TimerShield: Protecting High-Priority Tasks from Low-Priority
 * Timer Interference", RTAS 2017, section III.
 */
#ifndef _LINUX_TIMERSHIELD_H
#define _LINUX_TIMERSHIELD_H

#include <linux/hrtimer.h>
#include <linux/jump_label.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/prio.h>
#include <linux/sched/signal.h>
#include <linux/tracepoint-defs.h>

/**
 * enum timershield_level - the levels of timers and running tasks
 * @TIMERSHIELD_LEVEL_NONE:	the idle task: outranks no timer
 * @TIMERSHIELD_LEVEL_IDLE:	SCHED_IDLE
 * @TIMERSHIELD_LEVEL_FAIR:	SCHED_OTHER, SCHED_BATCH and SCHED_EXT, whatever
 *				their nice value: they do not outrank each other
 * @TIMERSHIELD_LEVEL_RT:	the level below SCHED_FIFO and SCHED_RR at
 *				priority 1; each priority has a level of its own
 * @TIMERSHIELD_LEVEL_DEADLINE:	SCHED_DEADLINE
 * @TIMERSHIELD_LEVEL_CRITICAL:	timers that are never masked. Every timer is
 *				critical unless the code that arms it names its
 *				owner.
 *
 * A higher number ranks higher.
 */
enum timershield_level {
	TIMERSHIELD_LEVEL_NONE		= 0,
	TIMERSHIELD_LEVEL_IDLE		= 1,
	TIMERSHIELD_LEVEL_FAIR		= 2,
	TIMERSHIELD_LEVEL_RT		= TIMERSHIELD_LEVEL_FAIR,
	TIMERSHIELD_LEVEL_DEADLINE	= TIMERSHIELD_LEVEL_RT + MAX_RT_PRIO,
	TIMERSHIELD_LEVEL_CRITICAL	= U8_MAX,
};

/**
 * enum timershield_owner - how a timer's level is found when it is enqueued
 * @TIMERSHIELD_OWNER_KERNEL:	nobody's: critical. What hrtimer_init() leaves.
 * @TIMERSHIELD_OWNER_SLEEPER:	the task that a struct hrtimer_sleeper wakes
 * @TIMERSHIELD_OWNER_TASKS:	tasks, as they rank by timershield_own()
 */
enum timershield_owner {
	TIMERSHIELD_OWNER_KERNEL,
	TIMERSHIELD_OWNER_SLEEPER,
	TIMERSHIELD_OWNER_TASKS,
};

#ifdef CONFIG_TIMERSHIELD

DECLARE_STATIC_KEY_FALSE(timershield_enabled);
DECLARE_PER_CPU(struct hrtimer_cpu_base, hrtimer_bases);

static inline u8 timershield_prio_level(int prio, unsigned int policy)
{
	if (unlikely(prio < MAX_DL_PRIO))
		return TIMERSHIELD_LEVEL_DEADLINE;
	if (prio < MAX_RT_PRIO)
		return TIMERSHIELD_LEVEL_RT + MAX_RT_PRIO - 1 - prio;
	return policy == SCHED_IDLE ? TIMERSHIELD_LEVEL_IDLE : TIMERSHIELD_LEVEL_FAIR;
}

/**
 * timershield_task_level - the level of a task
 * @p: the task. Its priority may change concurrently; the caller then gets the
 *     old or the new level.
 *
 * Follows the effective priority, thus includes priority inheritance.
 */
static inline u8 timershield_task_level(const struct task_struct *p)
{
	return READ_ONCE(p->timershield_level);
}

/**
 * timershield_set_task_level - a task has got a priority or policy
 * @p: the task. Its runqueue is locked, or nobody else knows it yet.
 */
static inline void timershield_set_task_level(struct task_struct *p)
{
	WRITE_ONCE(p->timershield_level, timershield_prio_level(p->prio, p->policy));
}

/* A task is a copy of its parent, and has got a priority of its own. */
static inline void timershield_fork(struct task_struct *p)
{
	timershield_set_task_level(p);
	p->timershield_polls = false;
	p->timershield_waking = false;
}

/* An idle task outranks no timer. */
static inline void timershield_set_idle_level(struct task_struct *idle)
{
	WRITE_ONCE(idle->timershield_level, TIMERSHIELD_LEVEL_NONE);
}

/**
 * timershield_normal_level - the level of a task without what it has inherited
 * @p: the task, see timershield_task_level()
 *
 * For what outlasts the inheritance: timers that a task arms for later.
 */
static inline u8 timershield_normal_level(const struct task_struct *p)
{
	return timershield_prio_level(READ_ONCE(p->normal_prio), READ_ONCE(p->policy));
}

#ifdef CONFIG_SMP
extern struct cpumask timershield_offers;
void __timershield_fell(u8 level);

/* This CPU's threshold has fallen: it might serve timers that others mask. */
static __always_inline void timershield_fell(u8 level)
{
	if (nr_cpu_ids == 1)
		return;
	/* Pairs with hrtimer_shield_set_offer() */
	smp_mb();
	if (unlikely(!cpumask_empty(&timershield_offers)))
		__timershield_fell(level);
}
#else
static inline void timershield_fell(u8 level) { }
#endif

void timershield_switch_slow(struct hrtimer_cpu_base *cpu_base, u8 level);
void timershield_trace_threshold(u8 old, u8 new);
DECLARE_TRACEPOINT(timershield_threshold);

/*
 * Change this CPU's threshold. Nothing else is to be done where the next event
 * stays: when the threshold rises to at most the level of the next timer, and
 * when it falls with no masked timer before the next one. What is looked at for
 * that is changed by this CPU only, or by others for timers that do not expire
 * before the next event; so no lock is needed.
 */
static __always_inline void __timershield_switch(struct hrtimer_cpu_base *cpu_base, u8 level)
{
	u8 old = cpu_base->threshold;

	if (level > old ? level > READ_ONCE(cpu_base->next_level) :
			  READ_ONCE(cpu_base->masked_first)) {
		timershield_switch_slow(cpu_base, level);
		return;
	}
	if (tracepoint_enabled(timershield_threshold))
		timershield_trace_threshold(old, level);
	WRITE_ONCE(cpu_base->threshold, level);
	if (level < old)
		timershield_fell(level);
}

/**
 * timershield_switch - a CPU is about to run a task: mask the timers below it
 * @next: the task that runs next on this CPU
 *
 * Context: the local runqueue lock is held, interrupts are disabled. Takes the
 * CPU's hrtimer base lock where the level differs from the last task's and the
 * next timer event may differ too.
 */
static __always_inline void timershield_switch(const struct task_struct *next)
{
	u8 level;

	if (!static_branch_unlikely(&timershield_enabled))
		return;
	level = timershield_task_level(next);
	if (level != __this_cpu_read(hrtimer_bases.threshold))
		__timershield_switch(this_cpu_ptr(&hrtimer_bases), level);
}

void timershield_release_slow(struct hrtimer_cpu_base *cpu_base);
void timershield_update(struct hrtimer *timer, const struct task_struct *waiter);
u8 timershield_next_level(void);
u8 timershield_queued_level(void);
void timershield_follow_all(void);

/**
 * timershield_outranked - would a task that wakes up have to wait on a CPU?
 * @p: the task
 * @cpu: the CPU
 *
 * Return: true if it ranks below the task that runs there.
 */
static inline bool timershield_outranked(const struct task_struct *p, int cpu)
{
	return static_branch_unlikely(&timershield_enabled) &&
	       timershield_task_level(p) < READ_ONCE(per_cpu(hrtimer_bases, cpu).threshold);
}

/**
 * timershield_own - say how those rank for whom a timer is about to be armed
 * @timer: initialized; when this is called for the first time, not enqueued
 * @level: the level of the highest-ranking of them
 */
static inline void timershield_own(struct hrtimer *timer, u8 level)
{
	/* Who enqueues the timer writes to the same byte. */
	if (timer->owner != TIMERSHIELD_OWNER_TASKS)
		timer->owner = TIMERSHIELD_OWNER_TASKS;
	timer->owner_level = level;
}

/**
 * timershield_own_update - those for whom a timer was armed rank otherwise now
 * @timer: it has been through timershield_own(), and may be enqueued
 * @level: the level of the highest-ranking of them
 *
 * Context: any, the caller serializes calls for one timer.
 */
static inline void timershield_own_update(struct hrtimer *timer, u8 level)
{
	if (level == timer->owner_level)
		return;
	WRITE_ONCE(timer->owner_level, level);
	timershield_update(timer, NULL);
}

/**
 * timershield_await - the current task is about to block until a timer expires
 * @timer: the timer, NULL when the task goes on. It outlives the wait.
 *
 * Until then the timer ranks at least as high as the task.
 */
static inline void timershield_await(struct hrtimer *timer)
{
	WRITE_ONCE(current->timershield_timer, timer);
}

/**
 * timershield_polls - does the current task block in a loop that ranks timers?
 * @polls: it is about to, or goes on
 *
 * For tasks that wait for many timers. Within the loop the task has them rank
 * at least as high as itself, after it has called this. If it gets a higher level
 * meanwhile, it is woken, and goes through the loop again.
 */
static inline void timershield_polls(bool polls)
{
	if (polls && static_branch_unlikely(&timershield_enabled))
		/* Its level is read afterwards. Pairs with timershield_level_changed(). */
		smp_store_mb(current->timershield_polls, true);
	else
		WRITE_ONCE(current->timershield_polls, false);
}

void timershield_keep_process_level(struct signal_struct *signal);
void timershield_policy_changed(struct task_struct *p, u8 old_level);
void timershield_keep_level(void);
void timershield_thread_exit(struct task_struct *p);

/**
 * timershield_process_level - the level of the highest-ranking thread of a process
 * @signal: the process's. It has been through timershield_keep_process_level().
 */
static inline u8 timershield_process_level(const struct signal_struct *signal)
{
	return READ_ONCE(signal->timershield_level);
}

#else

static inline void timershield_switch(const struct task_struct *next) { }
static inline u8 timershield_task_level(const struct task_struct *p) { return 0; }
static inline void timershield_fork(struct task_struct *p) { }
static inline void timershield_set_idle_level(struct task_struct *idle) { }
static inline u8 timershield_normal_level(const struct task_struct *p) { return 0; }
static inline bool timershield_outranked(const struct task_struct *p, int cpu) { return false; }
static inline void timershield_own(struct hrtimer *timer, u8 level) { }
static inline void timershield_own_update(struct hrtimer *timer, u8 level) { }
static inline void timershield_await(struct hrtimer *timer) { }
static inline void timershield_polls(bool polls) { }
static inline u8 timershield_process_level(const struct signal_struct *signal) { return 0; }
static inline void timershield_keep_process_level(struct signal_struct *signal) { }
static inline void timershield_keep_level(void) { }
static inline void timershield_policy_changed(struct task_struct *p, u8 old_level) { }
static inline void timershield_thread_exit(struct task_struct *p) { }

#endif /* CONFIG_TIMERSHIELD */

#endif /* _LINUX_TIMERSHIELD_H */
