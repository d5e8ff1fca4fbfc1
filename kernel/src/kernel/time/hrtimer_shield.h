/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What hrtimer.c asks TimerShield. Without CONFIG_TIMERSHIELD everything here
 * folds away and hrtimer.c compiles to what it was.
 *
 * A timer is masked on a CPU while its level is below the CPU's threshold. The
 * threshold is the level of the task that runs there, see __timershield_switch().
 * Masked timers stay in their queue, so the first timer that counts is not
 * always the leftmost; everything else about the queues is as before.
 *
 * Except where noted the functions are called with cpu_base->lock held.
 */
#ifndef _KERNEL_TIME_HRTIMER_SHIELD_H
#define _KERNEL_TIME_HRTIMER_SHIELD_H

#include <linux/cpu_shield.h>
#include <linux/sched/rt.h>
#include <linux/timershield.h>

#include "timershield_internal.h"

static inline struct hrtimer *hrtimer_leftmost(struct hrtimer_clock_base *base)
{
	return container_of(timerqueue_getnext(&base->active), struct hrtimer, node);
}

#ifdef CONFIG_TIMERSHIELD

#include <linux/shieldqueue.h>

/* Serving timers has a loop of its own when shielded: both are to be as fast */
#define __shield_inline	__always_inline

static_assert(sizeof(struct hrtimer) ==
	      ALIGN(offsetofend(struct hrtimer, is_hard), __alignof__(struct hrtimer)),
	      "TimerShield must fit into the padding of struct hrtimer");

/*
 * The static key spares a system that is switched off the look at the base. It
 * is set before the first base is shielded and cleared after the last one.
 */
static __always_inline bool hrtimer_shielded(const struct hrtimer_cpu_base *cpu_base)
{
	return static_branch_unlikely(&timershield_enabled) && cpu_base->shielded;
}

static __always_inline u8 hrtimer_threshold(const struct hrtimer_cpu_base *cpu_base)
{
	return static_branch_unlikely(&timershield_enabled) ? cpu_base->threshold :
							      TIMERSHIELD_LEVEL_NONE;
}

static __always_inline bool hrtimer_masked(const struct hrtimer_cpu_base *cpu_base,
					   const struct hrtimer *timer)
{
	return timer->level < hrtimer_threshold(cpu_base);
}

/* The first timer of a clock that is not masked, NULL if there is none */
static inline struct hrtimer *hrtimer_first(struct hrtimer_clock_base *base)
{
	struct hrtimer_cpu_base *cpu_base = base->cpu_base;
	struct hrtimer *timer = hrtimer_leftmost(base);

	if (likely(!hrtimer_masked(cpu_base, timer)))
		return timer;
	cpu_base->masked_first = true;
	timershield_count_masked(cpu_base->cpu);
	return __shieldqueue_first(&base->active, cpu_base->threshold);
}

/* The one after that, NULL if there is none */
static inline struct hrtimer *hrtimer_next(struct hrtimer_clock_base *base,
					   struct hrtimer *timer)
{
	return shieldqueue_next(timer, hrtimer_threshold(base->cpu_base));
}

/* Only a shielded clock with timers may have none that counts */
static inline bool hrtimer_none(const struct hrtimer *timer)
{
	return !timer;
}

void hrtimer_shield_offer(struct hrtimer_cpu_base *cpu_base, ktime_t expires_next);
void hrtimer_shield_offer_timer(struct hrtimer_cpu_base *cpu_base,
				struct hrtimer_clock_base *base, struct hrtimer *timer);

/* The next event has just been chosen. Are masked timers before it, for others to serve? */
static inline void hrtimer_offer(struct hrtimer_cpu_base *cpu_base, ktime_t expires_next)
{
	if (IS_ENABLED(CONFIG_SMP) && unlikely(cpu_base->masked_first && cpu_base->nr_movable))
		hrtimer_shield_offer(cpu_base, expires_next);
}

/* May others serve a timer that is masked now? */
static inline void hrtimer_offer_timer(struct hrtimer_cpu_base *cpu_base,
				       struct hrtimer_clock_base *base, struct hrtimer *timer)
{
	if (IS_ENABLED(CONFIG_SMP) && timer->movable)
		hrtimer_shield_offer_timer(cpu_base, base, timer);
}

/* While it is enqueued, the task that it wakes knows its timer. */
static inline void hrtimer_note_sleeper(struct hrtimer *timer)
{
	struct task_struct *task = timershield_sleeper(timer);

	if (task)
		WRITE_ONCE(task->timershield_timer, timer);
}

static inline void hrtimer_forget_sleeper(struct hrtimer *timer)
{
	struct task_struct *task = timershield_sleeper(timer);

	if (task && READ_ONCE(task->timershield_timer) == timer)
		WRITE_ONCE(task->timershield_timer, NULL);
}

/* May another CPU serve the timer? Those of the kernel itself stay where they are. */
static inline bool hrtimer_movable(const struct hrtimer_cpu_base *cpu_base, struct hrtimer *timer)
{
	struct task_struct *task = timershield_sleeper(timer);

	if (!IS_ENABLED(CONFIG_SMP) || nr_cpu_ids == 1)
		return false;
	if (!task)
		return timer->owner == TIMERSHIELD_OWNER_TASKS;
	return task->nr_cpus_allowed > 1 || !cpumask_test_cpu(cpu_base->cpu, task->cpus_ptr);
}

/* A queue gets a timer, or loses it */
static inline void hrtimer_count_in(struct hrtimer_cpu_base *cpu_base, struct hrtimer *timer)
{
	timer->level = timershield_timer_level(timer);
	timer->movable = hrtimer_movable(cpu_base, timer);
	cpu_base->nr_movable += timer->movable;
	hrtimer_note_sleeper(timer);
}

static inline void hrtimer_count_out(struct hrtimer_cpu_base *cpu_base, struct hrtimer *timer)
{
	cpu_base->nr_movable -= timer->movable;
	hrtimer_forget_sleeper(timer);
}

/* The task of an enqueued timer may run on other CPUs than before. */
static inline void hrtimer_recount(struct hrtimer_clock_base *base, struct hrtimer *timer)
{
	struct hrtimer_cpu_base *cpu_base = base->cpu_base;
	bool was_movable = timer->movable;

	timer->movable = hrtimer_movable(cpu_base, timer);
	cpu_base->nr_movable += timer->movable - was_movable;
	hrtimer_offer_timer(cpu_base, base, timer);
}

/* Whoever sees that a timer is enqueued sees at which base. */
static inline void hrtimer_publish_base(void)
{
	/* Pairs with hrtimer_shield_is_queued() */
	smp_wmb();
}

/* Add a timer; true if it may be the next event of its CPU */
static inline bool hrtimer_queue_add(struct hrtimer_clock_base *base, struct hrtimer *timer)
{
	struct hrtimer_cpu_base *cpu_base = base->cpu_base;
	bool leftmost, first;

	if (!hrtimer_shielded(cpu_base))
		return timerqueue_add(&base->active, &timer->node);

	hrtimer_count_in(cpu_base, timer);
	leftmost = shieldqueue_add(&base->active, timer);
	if (!cpu_base->threshold)
		return leftmost;

	/* Masked ones may stand before it: leftmost or not says nothing. */
	first = ktime_sub(timer->node.expires, base->offset) < cpu_base->expires_next;
	if (timer->level >= cpu_base->threshold)
		return first || timer->is_soft;
	if (first) {
		cpu_base->masked_first = true;
		hrtimer_offer_timer(cpu_base, base, timer);
	}
	return false;
}

/* Remove a timer; true if others remain */
static inline bool hrtimer_queue_del(struct hrtimer_clock_base *base, struct hrtimer *timer)
{
	if (hrtimer_shielded(base->cpu_base)) {
		hrtimer_count_out(base->cpu_base, timer);
		return shieldqueue_del(&base->active, timer);
	}
	return timerqueue_del(&base->active, &timer->node);
}

/* Would a timer that is about to be armed wait behind the task on that CPU? */
static inline bool hrtimer_would_wait(const struct hrtimer_cpu_base *cpu_base,
				      struct hrtimer *timer)
{
	u8 threshold = hrtimer_threshold(cpu_base);

	return threshold && timershield_timer_level(timer) < threshold;
}

static inline bool hrtimer_masked_first(const struct hrtimer_cpu_base *cpu_base)
{
	return cpu_base->masked_first;
}

static inline void hrtimer_reset_masked_first(struct hrtimer_cpu_base *cpu_base)
{
	if (hrtimer_shielded(cpu_base))
		cpu_base->masked_first = false;
}

/* next_timer has just been chosen */
static inline void hrtimer_note_next(struct hrtimer_cpu_base *cpu_base,
				     const struct hrtimer *next_timer)
{
	if (!hrtimer_shielded(cpu_base))
		return;
	/* A change of the threshold may end the pause after a hang. */
	if (unlikely(cpu_base->hang_detected))
		cpu_base->next_level = TIMERSHIELD_LEVEL_NONE;
	else
		cpu_base->next_level = next_timer ? next_timer->level : TIMERSHIELD_LEVEL_CRITICAL;
}

/*
 * While a hang is recovered from, the device is set to its end or to an earlier
 * timer above those that hung. Lower ones must not touch it.
 */
static inline bool hrtimer_hang_holds(const struct hrtimer_cpu_base *cpu_base, u8 level)
{
	return hrtimer_shielded(cpu_base) && cpu_base->hang_detected &&
	       level <= cpu_base->hang_level;
}

static inline bool hrtimer_hang_holds_timer(const struct hrtimer_cpu_base *cpu_base,
					    const struct hrtimer *timer)
{
	return hrtimer_hang_holds(cpu_base, timer->level);
}

static void hrtimer_shield_look_hung(struct hrtimer_cpu_base *cpu_base);

/* Must the device keep the time that hrtimer_interrupt() set to end a hang? */
static inline bool hrtimer_hang_keeps_device(const struct hrtimer_cpu_base *cpu_base)
{
	return cpu_base->hang_detected && !hrtimer_shielded(cpu_base);
}

/*
 * Nothing is masked. Without a shield threshold and next_level stay as they are
 * here, so that every change of the threshold looks at the base and leaves it.
 */
static inline void hrtimer_shield_reset(struct hrtimer_cpu_base *cpu_base, bool shielded)
{
	cpu_base->shielded = shielded;
	cpu_base->threshold = TIMERSHIELD_LEVEL_NONE;
	/* Lets the first change of the threshold look at the queues */
	cpu_base->next_level = TIMERSHIELD_LEVEL_NONE;
	cpu_base->hang_level = TIMERSHIELD_LEVEL_NONE;
	cpu_base->held_below = TIMERSHIELD_LEVEL_NONE;
	cpu_base->offer_level = TIMERSHIELD_LEVEL_NONE;
	cpu_base->nr_movable = 0;
	cpu_base->masked_first = false;
}

/* Interrupts are disabled, the lock is not held. */
static inline void hrtimer_shield_switch_to_hres(void)
{
	if (timershield_is_on())
		hrtimer_shield_on(NULL);
}

static inline void hrtimer_own_sleeper(struct hrtimer_sleeper *sl)
{
	sl->timer.owner = TIMERSHIELD_OWNER_SLEEPER;
	sl->sleeper = current;
}

/* Is the current task about to sleep as a real-time one, if only by inheritance? */
static inline bool hrtimer_sleeps_as_rt(void)
{
	return rt_or_dl_task_policy(current) ||
	       (static_branch_unlikely(&timershield_enabled) &&
		timershield_task_level(current) > TIMERSHIELD_LEVEL_FAIR);
}

#else /* !CONFIG_TIMERSHIELD */

#define __shield_inline

static inline bool hrtimer_shielded(const struct hrtimer_cpu_base *cpu_base)
{
	return false;
}

static inline bool hrtimer_masked(const struct hrtimer_cpu_base *cpu_base,
				  const struct hrtimer *timer)
{
	return false;
}

static inline struct hrtimer *hrtimer_first(struct hrtimer_clock_base *base)
{
	return hrtimer_leftmost(base);
}

static inline struct hrtimer *hrtimer_next(struct hrtimer_clock_base *base,
					   struct hrtimer *timer)
{
	struct timerqueue_node *next = timerqueue_iterate_next(&timer->node);

	return next ? container_of(next, struct hrtimer, node) : NULL;
}

static inline bool hrtimer_none(const struct hrtimer *timer)
{
	return false;
}

static inline bool hrtimer_queue_add(struct hrtimer_clock_base *base, struct hrtimer *timer)
{
	return timerqueue_add(&base->active, &timer->node);
}

static inline bool hrtimer_queue_del(struct hrtimer_clock_base *base, struct hrtimer *timer)
{
	return timerqueue_del(&base->active, &timer->node);
}

static inline bool hrtimer_would_wait(const struct hrtimer_cpu_base *cpu_base,
				      struct hrtimer *timer)
{
	return false;
}

static inline u8 hrtimer_threshold(const struct hrtimer_cpu_base *cpu_base)
{
	return TIMERSHIELD_LEVEL_NONE;
}

static inline bool hrtimer_masked_first(const struct hrtimer_cpu_base *cpu_base)
{
	return false;
}

static inline void hrtimer_reset_masked_first(struct hrtimer_cpu_base *cpu_base) { }
static inline void hrtimer_note_next(struct hrtimer_cpu_base *cpu_base,
				     const struct hrtimer *next_timer) { }
static inline void hrtimer_offer(struct hrtimer_cpu_base *cpu_base, ktime_t expires_next) { }

static inline bool hrtimer_hang_holds(const struct hrtimer_cpu_base *cpu_base, u8 level)
{
	return false;
}

static inline bool hrtimer_hang_holds_timer(const struct hrtimer_cpu_base *cpu_base,
					    const struct hrtimer *timer)
{
	return false;
}

static inline bool hrtimer_hang_keeps_device(const struct hrtimer_cpu_base *cpu_base)
{
	return cpu_base->hang_detected;
}

static inline void hrtimer_shield_look_hung(struct hrtimer_cpu_base *cpu_base) { }
static inline void hrtimer_publish_base(void) { }

static inline void hrtimer_shield_reset(struct hrtimer_cpu_base *cpu_base, bool shielded) { }
static inline void hrtimer_shield_switch_to_hres(void) { }
static inline void hrtimer_own_sleeper(struct hrtimer_sleeper *sl) { }

static inline bool hrtimer_sleeps_as_rt(void)
{
	return rt_or_dl_task_policy(current);
}

#endif /* CONFIG_TIMERSHIELD */

#endif /* _KERNEL_TIME_HRTIMER_SHIELD_H */
