/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TimerShield: the timers of real-time tasks, if they are masked by level. A red-black
 * tree for each level and clock, and the minima of each level. Part of hrtimer.c.
 *
 * The caller holds the lock of the hrtimer_cpu_base.
 */
#ifndef _KERNEL_TIME_TIMERSHIELD_LEVELS_H
#define _KERNEL_TIME_TIMERSHIELD_LEVELS_H

#include <linux/hrtimer.h>
#include <linux/rbtree.h>
#include <linux/timershield.h>

#ifdef CONFIG_TIMERSHIELD
#include "timershield_minima.h"

static_assert(TIMERSHIELD_DEADLINE < TIMERSHIELD_LEVELS);

#define to_hrtimer(rb)		rb_entry(rb, struct hrtimer, HRTIMER_RB)

static __always_inline bool levels_before(struct rb_node *a, const struct rb_node *b)
{
	return hrtimer_get_expires(to_hrtimer(a)) < hrtimer_get_expires(to_hrtimer(b));
}

/* The expiry of a timer in CLOCK_MONOTONIC */
static __always_inline ktime_t levels_expires(const struct hrtimer *timer)
{
	return ktime_sub(hrtimer_get_expires(timer), timer->base->offset);
}

/* The earliest expiry of all */
static __always_inline ktime_t levels_earliest(const struct hrtimer_cpu_base *cpu_base)
{
	return minima_all(&cpu_base->levels.minima);
}

/* The first timer of a level; NULL if there is none */
static inline struct hrtimer *levels_first(struct hrtimer_levels *levels, u8 level)
{
	unsigned int clocks = levels->clocks[level];
	struct hrtimer *first = NULL;

	for (; clocks; clocks &= clocks - 1) {
		struct rb_root_cached *queue = &levels->queue[level][__ffs(clocks)];
		struct hrtimer *timer = to_hrtimer(rb_first_cached(queue));

		if (!first || levels_expires(timer) < levels_expires(first))
			first = timer;
	}
	return first;
}

static inline void levels_update_minima(struct hrtimer_levels *levels, u8 level)
{
	const struct hrtimer *first = levels_first(levels, level);

	minima_set(&levels->minima, level, first ? levels_expires(first) : KTIME_MAX);
}

static inline void levels_add(struct hrtimer_levels *levels, struct hrtimer *timer, u8 level)
{
	unsigned int clock = timer->base->index;

	timer->queued_level = level;
	if (!rb_add_cached(&timer->HRTIMER_RB, &levels->queue[level][clock], levels_before))
		return;
	levels->clocks[level] |= BIT(clock);
	minima_lower(&levels->minima, level, levels_expires(timer));
}

static inline void levels_del(struct hrtimer_levels *levels, struct hrtimer *timer)
{
	unsigned int clock = timer->base->index;
	u8 level = timer->queued_level;
	struct rb_root_cached *queue = &levels->queue[level][clock];
	bool first = queue->rb_leftmost == &timer->HRTIMER_RB;

	rb_erase_cached(&timer->HRTIMER_RB, queue);
	RB_CLEAR_NODE(&timer->HRTIMER_RB);
	timer->queued_level = 0;
	if (!first)
		return;
	if (!queue->rb_leftmost)
		levels->clocks[level] &= ~BIT(clock);
	levels_update_minima(levels, level);
}

/* A clock was set: what its timers have in the minima is out of date. */
static noinline __maybe_unused void levels_clock_set(struct hrtimer_cpu_base *cpu_base)
{
	struct hrtimer_levels *levels = &cpu_base->levels;

	for (u8 level = TIMERSHIELD_REALTIME; level <= TIMERSHIELD_DEADLINE; level++)
		if (levels->clocks[level] & ~BIT(HRTIMER_BASE_MONOTONIC))
			levels_update_minima(levels, level);
}

static inline void levels_init(struct hrtimer_levels *levels)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(levels->minima.first); i++)
		levels->minima.first[i] = KTIME_MAX;
}
#else
static inline ktime_t levels_earliest(const struct hrtimer_cpu_base *cpu_base)
{
	return KTIME_MAX;
}

static inline void levels_clock_set(struct hrtimer_cpu_base *cpu_base) { }
#endif

#endif /* _KERNEL_TIME_TIMERSHIELD_LEVELS_H */
