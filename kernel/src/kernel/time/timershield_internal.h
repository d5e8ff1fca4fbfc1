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

/* Callbacks of tasks' timers that run in one go, with interrupts disabled */
#define TIMERSHIELD_BATCH	8

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

/* Timers that are armed from now on are queued by level. Read under a base lock. */
extern bool timershield_on;

static inline struct timershield_cpu *timershield_of(const struct hrtimer_cpu_base *cpu_base)
{
	return per_cpu_ptr(&timershield_cpus, cpu_base->cpu);
}

/* The queues of timers that expire in the softirq, or in the interrupt */
static inline unsigned int timershield_queues(bool soft)
{
	return soft ? GENMASK(HRTIMER_BASE_TAI_SOFT, HRTIMER_BASE_MONOTONIC_SOFT) :
		      GENMASK(HRTIMER_BASE_TAI, HRTIMER_BASE_MONOTONIC);
}

#define for_each_queue(index, sc, mask)						\
	for (unsigned int __active = (sc)->active & (mask);			\
	     __active && ({ index = __ffs(__active); true; });			\
	     __active &= __active - 1)

/* The expiry of a timer in CLOCK_MONOTONIC */
static inline ktime_t timershield_mono(const struct hrtimer *timer)
{
	return ktime_sub(hrtimer_get_expires(timer), timer->base->offset);
}

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
	return timershield_enabled() ? timershield_of(cpu_base)->active : 0;
}

/* The device is being set for a timer. */
static inline void timershield_set_next(const struct hrtimer_cpu_base *cpu_base,
					const struct hrtimer *timer)
{
	if (timershield_enabled())
		timershield_of(cpu_base)->next_level = timer && timer->queued_level ?
						       timer->queued_level :
						       TIMERSHIELD_CRITICAL;
}

/* Is the device set for a timer of a task? */
static __always_inline bool timershield_is_next(const struct hrtimer_cpu_base *cpu_base)
{
	return timershield_enabled() &&
	       timershield_of(cpu_base)->next_level != TIMERSHIELD_CRITICAL;
}

static inline void timershield_tick(void)
{
	if (timershield_enabled())
		this_cpu_write(timershield_cpus.tick, true);
}

bool timershield_enqueue(struct hrtimer *timer, struct hrtimer_clock_base *base,
			 struct task_struct *sleeper);
void timershield_dequeue(struct hrtimer *timer, struct hrtimer_clock_base *base,
			 struct task_struct *sleeper);
void timershield_first(struct hrtimer_cpu_base *cpu_base, bool soft, ktime_t *expires_next,
		       struct hrtimer **next_timer);
struct hrtimer *timershield_nth(struct hrtimer_clock_base *base, unsigned long nth);
void timershield_change_level(struct hrtimer *timer, u8 level);
struct hrtimer *timershield_next(struct hrtimer_cpu_base *cpu_base, struct timershield_run *run);
struct hrtimer *timershield_next_soft(struct hrtimer_cpu_base *cpu_base,
				      struct timershield_run *run);
bool timershield_soft_held(struct hrtimer_cpu_base *cpu_base, ktime_t now);

/* In hrtimer.c: set the device of this CPU for its first timer that is not masked. */
void hrtimer_update_mask(struct hrtimer_cpu_base *cpu_base);
/* In hrtimer.c: put up to @nr of a CPU's timers of tasks into the stock queues. */
bool hrtimer_disown(unsigned int cpu, unsigned int nr);

#endif /* _KERNEL_TIME_TIMERSHIELD_INTERNAL_H */
