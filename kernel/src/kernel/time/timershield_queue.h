/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The queues of timers of tasks: a red-black tree for each level and clock, and the
 * minima of each level. The caller holds the lock of the hrtimer_cpu_base.
 */
#ifndef _KERNEL_TIME_TIMERSHIELD_QUEUE_H
#define _KERNEL_TIME_TIMERSHIELD_QUEUE_H

#include <linux/hrtimer.h>
#include <linux/rbtree.h>

#include "timershield_minima.h"

/* No timer leaves a queue without the minima being told. */
#define TIMERSHIELD_LAZY	0
#define to_hrtimer(rb)	rb_entry(rb, struct hrtimer, HRTIMER_RB)

static __always_inline bool expires_before(struct rb_node *a, const struct rb_node *b)
{
	return hrtimer_get_expires(to_hrtimer(a)) < hrtimer_get_expires(to_hrtimer(b));
}

/* The expiry of a timer in CLOCK_MONOTONIC */
static __always_inline ktime_t timershield_mono(const struct hrtimer *timer)
{
	return ktime_sub(hrtimer_get_expires(timer), timer->base->offset);
}

/* The same, as early as the slack lets it expire */
static __always_inline ktime_t timershield_softmono(const struct hrtimer *timer)
{
	return ktime_sub(hrtimer_get_softexpires(timer), timer->base->offset);
}

static __always_inline u8 timershield_queued_level(const struct hrtimer *timer)
{
	return timer->queued_level;
}

/* Of all clock bases: those of timers that expire in the softirq, or in the interrupt */
static __always_inline unsigned int timershield_bases(bool soft)
{
	return soft ? GENMASK(HRTIMER_BASE_TAI_SOFT, HRTIMER_BASE_MONOTONIC_SOFT) :
		      GENMASK(HRTIMER_BASE_TAI, HRTIMER_BASE_MONOTONIC);
}

static __always_inline struct rb_root_cached *timershield_queue(struct timershield_cpu *sc,
								u8 level, unsigned int clock)
{
	return &container_of(sc, struct hrtimer_cpu_base, shield)->shield_queue[level][clock];
}

/* The first timer of a level; NULL if there is none */
static __always_inline struct hrtimer *timershield_first_of(struct timershield_cpu *sc,
							    u8 level, bool soft)
{
	unsigned int clocks = sc->clocks[level] & timershield_bases(soft);
	struct hrtimer *first = NULL;

	for (; clocks; clocks &= clocks - 1) {
		struct rb_root_cached *queue = timershield_queue(sc, level, __ffs(clocks));
		struct hrtimer *timer = to_hrtimer(rb_first_cached(queue));

		if (!first || timershield_mono(timer) < timershield_mono(first))
			first = timer;
	}
	return first;
}

static inline void timershield_queue_add(struct timershield_cpu *sc,
					 struct hrtimer *timer, u8 level)
{
	unsigned int clock = timer->base->index;

	timer->queued_level = level;
	if (!rb_add_cached(&timer->HRTIMER_RB, timershield_queue(sc, level, clock),
			   expires_before))
		return;
	sc->clocks[level] |= BIT(clock);
	minima_lower(&sc->minima[!!timer->is_soft], level, timershield_mono(timer));
}

static noinline __maybe_unused void
timershield_update_minima(struct timershield_cpu *sc, u8 level, bool soft)
{
	const struct hrtimer *first = timershield_first_of(sc, level, soft);

	minima_set(&sc->minima[soft], level, first ? timershield_mono(first) : KTIME_MAX);
}

static inline void timershield_queue_del(struct timershield_cpu *sc,
					 struct hrtimer *timer)
{
	unsigned int clock = timer->base->index;
	u8 level = timer->queued_level;
	struct rb_root_cached *queue = timershield_queue(sc, level, clock);
	bool first = queue->rb_leftmost == &timer->HRTIMER_RB;

	rb_erase_cached(&timer->HRTIMER_RB, queue);
	RB_CLEAR_NODE(&timer->HRTIMER_RB);
	timer->queued_level = 0;
	if (!first)
		return;
	if (!queue->rb_leftmost)
		sc->clocks[level] &= ~BIT(clock);
	timershield_update_minima(sc, level, timer->is_soft);
}

#endif /* _KERNEL_TIME_TIMERSHIELD_QUEUE_H */
