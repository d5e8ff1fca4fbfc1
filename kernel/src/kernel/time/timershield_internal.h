/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between hrtimer.c and TimerShield. Without CONFIG_TIMERSHIELD all of it folds
 * away: what is not defined then is called only if timershield_enabled().
 *
 * To be included after tick-internal.h, which cannot be included twice.
 *
 * The functions are called with the lock of the hrtimer_cpu_base held.
 */
#ifndef _KERNEL_TIME_TIMERSHIELD_INTERNAL_H
#define _KERNEL_TIME_TIMERSHIELD_INTERNAL_H

#include <linux/hrtimer.h>
#include <linux/timershield.h>

#include "timershield_minima.h"

/* Timers that are armed from now on are queued by level. Read under a base lock. */
extern bool timershield_on;

/* Does a timer that is about to be queued belong to a task? */
static __always_inline bool timershield_owns(const struct hrtimer *timer,
					     const struct hrtimer_cpu_base *cpu_base)
{
	return timershield_enabled() && timer->level && cpu_base->hres_active &&
	       timershield_on && (IS_ENABLED(CONFIG_PREEMPT_RT) || !timer->is_soft);
}

/* Is it in a queue of timers of tasks? */
static __always_inline bool timershield_queued(const struct hrtimer *timer)
{
	return timershield_enabled() && timer->queued_level;
}

#ifdef CONFIG_TIMERSHIELD
/* Has a CPU timers of tasks, such that expire in the softirq, or in the interrupt? */
static __always_inline bool timershield_active(const struct hrtimer_cpu_base *cpu_base, bool soft)
{
	return timershield_enabled() && (IS_ENABLED(CONFIG_PREEMPT_RT) || !soft) &&
	       minima_all(&cpu_base->shield.minima[soft]) != KTIME_MAX;
}

/* Where the tick is stopped: when a masked timer that expires at @expires has been held enough */
static __always_inline ktime_t timershield_hold_ends(const struct timershield_cpu *sc,
						     ktime_t expires)
{
	return max(ktime_add_safe(max(expires, 0), TICK_NSEC), sc->hold);
}

void __timershield_first(struct hrtimer_cpu_base *cpu_base, bool soft, ktime_t *expires_next,
			 struct hrtimer **next_timer);

/**
 * timershield_first - find the first timer of a task that is not masked
 * @cpu_base: the CPU
 * @soft: among the timers that expire in the softirq, or in the interrupt
 * @expires_next: lowered to its expiry if that is earlier
 * @next_timer: set to it in that case
 */
static __always_inline void timershield_first(struct hrtimer_cpu_base *cpu_base, bool soft,
					      ktime_t *expires_next, struct hrtimer **next_timer)
{
	if (timershield_enabled() && (IS_ENABLED(CONFIG_PREEMPT_RT) || !soft) &&
	    minima_all(&cpu_base->shield.minima[soft]) < *expires_next)
		__timershield_first(cpu_base, soft, expires_next, next_timer);
}

/* The device is being set for a timer. */
static __always_inline void timershield_set_next(struct hrtimer_cpu_base *cpu_base,
						 const struct hrtimer *timer)
{
	if (timershield_enabled())
		cpu_base->shield.next_level = timer && timer->queued_level ?
					      timer->queued_level : TIMERSHIELD_CRITICAL;
}

/* When the device has to fire for a timer: a masked one counts only where the tick is stopped. */
static __always_inline ktime_t timershield_fires(const struct hrtimer_cpu_base *cpu_base,
						 const struct hrtimer *timer, ktime_t expires)
{
	if (!timershield_queued(timer) || timer->queued_level >= cpu_base->shield.threshold)
		return expires;
	return timershield_hold_ends(&cpu_base->shield, expires);
}

/* Must the device be set for a timer of a task, even if that has expired? */
static __always_inline bool timershield_force(const struct hrtimer_cpu_base *cpu_base,
					      const struct timershield_run *run, int retries)
{
	return timershield_enabled() && (retries || !run->all) &&
	       cpu_base->shield.next_level != TIMERSHIELD_CRITICAL;
}

void __timershield_clock_set(struct hrtimer_cpu_base *cpu_base);

/* The offsets of the clocks may have changed; that of CLOCK_REALTIME also by a leap second. */
static __always_inline void timershield_clock_set(struct hrtimer_cpu_base *cpu_base)
{
	const struct timershield_cpu *sc = &cpu_base->shield;

	if (timershield_enabled() &&
	    (sc->clock_seq != cpu_base->clock_was_set_seq ||
	     sc->realtime != cpu_base->clock_base[HRTIMER_BASE_REALTIME].offset))
		__timershield_clock_set(cpu_base);
}

static inline void timershield_tick(struct hrtimer_cpu_base *cpu_base)
{
	if (timershield_active(cpu_base, false) || timershield_active(cpu_base, true))
		cpu_base->shield.tick = true;
}
#else
static inline bool timershield_active(const struct hrtimer_cpu_base *cpu_base, bool soft)
{
	return false;
}

static inline void timershield_first(struct hrtimer_cpu_base *cpu_base, bool soft,
				     ktime_t *expires_next, struct hrtimer **next_timer) { }

static inline void timershield_set_next(struct hrtimer_cpu_base *cpu_base,
					const struct hrtimer *timer) { }

static inline ktime_t timershield_fires(const struct hrtimer_cpu_base *cpu_base,
					const struct hrtimer *timer, ktime_t expires)
{
	return expires;
}

static inline bool timershield_force(const struct hrtimer_cpu_base *cpu_base,
				     const struct timershield_run *run, int retries)
{
	return false;
}

static inline void timershield_clock_set(struct hrtimer_cpu_base *cpu_base) { }
static inline void timershield_tick(struct hrtimer_cpu_base *cpu_base) { }
#endif

bool timershield_enqueue(struct hrtimer *timer, struct hrtimer_clock_base *base,
			 struct task_struct *sleeper);
void timershield_dequeue(struct hrtimer *timer, struct hrtimer_clock_base *base,
			 struct task_struct *sleeper);
unsigned int timershield_clocks(const struct hrtimer_cpu_base *cpu_base);
struct hrtimer *timershield_nth(struct hrtimer_clock_base *base, unsigned long nth);
void timershield_change_level(struct hrtimer *timer, u8 level);

/* In hrtimer.c: expire timers of tasks, in the interrupt a bounded number. */
void hrtimer_run_owned(struct hrtimer_cpu_base *cpu_base, struct timershield_run *run, ktime_t now,
		       unsigned long flags, bool soft);
/* In hrtimer.c: set the device of this CPU for its first timer that is not masked. */
void hrtimer_update_mask(struct hrtimer_cpu_base *cpu_base);
/* In hrtimer.c: is the device going to be set soon in any case? */
bool hrtimer_rearm_pending(struct hrtimer_cpu_base *cpu_base);
/* In hrtimer.c: put up to @nr of a CPU's timers of tasks into the stock queues. */
bool hrtimer_disown(unsigned int cpu, unsigned int nr);

#endif /* _KERNEL_TIME_TIMERSHIELD_INTERNAL_H */
