/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between hrtimer.c and timershield.c. Without CONFIG_TIMERSHIELD all of it
 * folds away.
 *
 * To be included after tick-internal.h, which cannot be included twice.
 *
 * The functions are called with the lock of the hrtimer_cpu_base held.
 */
#ifndef _KERNEL_TIME_TIMERSHIELD_INTERNAL_H
#define _KERNEL_TIME_TIMERSHIELD_INTERNAL_H

#include <linux/timershield.h>

/**
 * struct timershield_run - the timers of tasks that one interrupt expires
 * @now: the current time
 * @floor: timers below this level are left for later
 * @level: the highest level of those that have expired
 * @nr: number of timers that have expired
 * @released: a timer that has been masked was among them
 * @fresh: the last of them had not been masked
 */
struct timershield_run {
	ktime_t		now;
	u8		floor;
	u8		level;
	unsigned int	nr;
	bool		released;
	bool		fresh;
};

#ifdef CONFIG_TIMERSHIELD

/* Callbacks of tasks' timers that run in one go, with interrupts disabled */
#define TIMERSHIELD_BATCH	8

extern bool timershield_on;

/* Does a timer that is about to be queued belong to a task? */
static __always_inline bool timershield_owns(const struct hrtimer *timer,
					     const struct hrtimer_cpu_base *cpu_base)
{
	return timershield_enabled() && timer->level && cpu_base->hres_active &&
	       timershield_on;
}

/* Is it in a queue of timers of tasks? */
static __always_inline bool timershield_queued(const struct hrtimer *timer)
{
	return timershield_enabled() && timer->queued_level;
}

/* The clock bases that have timers of tasks */
static __always_inline unsigned int timershield_active(const struct hrtimer_cpu_base *cpu_base)
{
	return timershield_enabled() ? per_cpu(timershield_cpus, cpu_base->cpu).active : 0;
}

static inline void timershield_set_next(const struct hrtimer_cpu_base *cpu_base, u8 level)
{
	if (timershield_enabled())
		per_cpu(timershield_cpus, cpu_base->cpu).next_level = level;
}

/* The level that a timer which the device is set for counts as */
static inline u8 timershield_event_level(const struct hrtimer *timer)
{
	return timer && timer->queued_level ? timer->queued_level : TIMERSHIELD_CRITICAL;
}

/* Is the device set for a timer of a task? */
static __always_inline bool timershield_is_next(const struct hrtimer_cpu_base *cpu_base)
{
	return timershield_enabled() &&
	       per_cpu(timershield_cpus, cpu_base->cpu).next_level != TIMERSHIELD_CRITICAL;
}

static inline bool timershield_has_soft(const struct hrtimer_cpu_base *cpu_base)
{
	return per_cpu(timershield_cpus, cpu_base->cpu).active >> HRTIMER_BASE_MONOTONIC_SOFT;
}

static inline void timershield_tick(void)
{
	if (timershield_enabled())
		this_cpu_write(timershield_cpus.tick, true);
}

#else /* !CONFIG_TIMERSHIELD */

static inline bool timershield_owns(const struct hrtimer *timer,
				    const struct hrtimer_cpu_base *cpu_base)
{
	return false;
}

static inline bool timershield_queued(const struct hrtimer *timer) { return false; }
static inline unsigned int timershield_active(const struct hrtimer_cpu_base *cpu_base) { return 0; }
static inline void timershield_set_next(const struct hrtimer_cpu_base *cpu_base, u8 level) { }
static inline u8 timershield_event_level(const struct hrtimer *timer) { return 0; }
static inline bool timershield_is_next(const struct hrtimer_cpu_base *cpu_base) { return false; }
static inline void timershield_tick(void) { }

#endif /* !CONFIG_TIMERSHIELD */

/* Called if the functions above say so, that is never without CONFIG_TIMERSHIELD */
bool timershield_enqueue(struct hrtimer *timer, struct hrtimer_clock_base *base,
			 struct task_struct *sleeper);
void timershield_dequeue(struct hrtimer *timer, struct hrtimer_clock_base *base,
			 struct task_struct *sleeper);
void timershield_first(struct hrtimer_cpu_base *cpu_base, bool soft, ktime_t *expires_next,
		       struct hrtimer **next_timer);
ktime_t timershield_earliest(struct hrtimer_cpu_base *cpu_base, ktime_t expires_next);
struct hrtimer *timershield_next(struct hrtimer_cpu_base *cpu_base,
				 struct timershield_run *run);
struct hrtimer *timershield_next_soft(struct hrtimer_cpu_base *cpu_base,
				      struct timershield_run *run);
bool timershield_soft_held(struct hrtimer_cpu_base *cpu_base, ktime_t now);
struct hrtimer *timershield_nth(struct hrtimer_clock_base *base, unsigned long nth);
void timershield_change_level(struct hrtimer_clock_base *base, struct hrtimer *timer, u8 level);

/* In hrtimer.c: set the device of this CPU. If @fewer timers are masked, none is later. */
void hrtimer_update_mask(struct hrtimer_cpu_base *cpu_base, bool fewer);
/* In hrtimer.c: put up to @nr of a CPU's timers of tasks into the stock queues. */
bool hrtimer_disown(unsigned int cpu, unsigned int nr);

#endif /* _KERNEL_TIME_TIMERSHIELD_INTERNAL_H */
