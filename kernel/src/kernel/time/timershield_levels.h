/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TimerShield: the timers of real-time tasks. Each level has a base for each clock, that is a tree,
 * and a segment tree keeps their minima. What a minimum says may be too early, once a timer has
 * left: that is put right where it is read. Part of hrtimer.c.
 *
 * The caller holds the lock of the hrtimer_cpu_base.
 */
#ifndef _KERNEL_TIME_TIMERSHIELD_LEVELS_H
#define _KERNEL_TIME_TIMERSHIELD_LEVELS_H

#include <linux/hrtimer_bases.h>

#include "timershield_minima.h"

/* The base of a level and clock; ordinary tasks have the TASK bases */
#define levels_index(level, clock)	\
	(HRTIMER_BASE_MONOTONIC_SOFT + TIMERSHIELD_CLOCKS * (level) + (clock))

/* The level of a base; 0 if no task has armed its timers */
static __always_inline unsigned int levels_of(unsigned int index)
{
	return index < HRTIMER_BASE_MONOTONIC_TASK ? 0 : index / TIMERSHIELD_CLOCKS - 1;
}

static_assert(TIMERSHIELD_DEADLINE < TIMERSHIELD_LEVELS);
static_assert(levels_index(TIMERSHIELD_REALTIME, 0) == HRTIMER_BASE_LEVELS);
static_assert(levels_index(TIMERSHIELD_DEADLINE + 1, 0) == HRTIMER_MAX_CLOCK_BASES);

/* When the first timer of a base expires (CLOCK_MONOTONIC) */
static __always_inline ktime_t levels_expires(const struct hrtimer_clock_base *base)
{
	return ktime_sub(base->expires_next, base->offset);
}

/* The base that has the first timer of a level, and when that expires; KTIME_MAX: there is none */
static inline struct hrtimer_clock_base *levels_base(struct hrtimer_cpu_base *cpu_base, u8 level,
						     ktime_t *expires)
{
	struct hrtimer_clock_base *base = &cpu_base->clock_base[levels_index(level, 0)];
	struct hrtimer_clock_base *first = base;

	/* The offset of CLOCK_MONOTONIC is 0. */
	*expires = base->expires_next;
	for (unsigned int clock = 1; clock < TIMERSHIELD_CLOCKS; clock++) {
		if (likely(base[clock].expires_next == KTIME_MAX) ||
		    levels_expires(base + clock) >= *expires)
			continue;
		first = base + clock;
		*expires = levels_expires(first);
	}
	return first;
}

/* The first timer of a base has changed. */
static inline void levels_changed(const struct hrtimer_clock_base *base)
{
	minima_lower(&base->cpu_base->minima, levels_of(base->index), levels_expires(base));
}

/* The base with the earliest timer at or above @level; NULL if there is none */
static inline struct hrtimer_clock_base *levels_earliest(struct hrtimer_cpu_base *cpu_base,
							 u8 level)
{
	struct timershield_minima *minima = &cpu_base->minima;
	u8 at;

	while ((at = minima_earliest(minima, level))) {
		ktime_t expires;
		struct hrtimer_clock_base *base = levels_base(cpu_base, at, &expires);

		if (expires == minima_of(minima, at))
			return base;
		minima_set(minima, at, expires);
	}
	return NULL;
}

/* Of the highest level that has a timer that has expired, the base with the first one; or NULL */
static inline struct hrtimer_clock_base *levels_highest(struct hrtimer_cpu_base *cpu_base,
							ktime_t now)
{
	struct timershield_minima *minima = &cpu_base->minima;
	u8 at;

	while ((at = minima_highest(minima, now))) {
		ktime_t expires;
		struct hrtimer_clock_base *base = levels_base(cpu_base, at, &expires);

		if (expires <= now)
			return base;
		minima_set(minima, at, expires);
	}
	return NULL;
}

/* The clocks have been set: the stock bases know their offsets. */
static noinline __maybe_unused void levels_clock_set(struct hrtimer_cpu_base *cpu_base)
{
	for (u8 level = TIMERSHIELD_REALTIME; level <= TIMERSHIELD_DEADLINE; level++) {
		ktime_t expires;

		for (unsigned int clock = 0; clock < TIMERSHIELD_CLOCKS; clock++)
			cpu_base->clock_base[levels_index(level, clock)].offset =
				cpu_base->clock_base[clock].offset;
		levels_base(cpu_base, level, &expires);
		minima_set(&cpu_base->minima, level, expires);
	}
}

static inline void levels_init(struct hrtimer_cpu_base *cpu_base)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(cpu_base->minima.first); i++)
		cpu_base->minima.first[i] = KTIME_MAX;
	for (unsigned int i = HRTIMER_BASE_LEVELS; i < HRTIMER_MAX_CLOCK_BASES; i++)
		cpu_base->clock_base[i].expires_next = KTIME_MAX;
}

#endif /* _KERNEL_TIME_TIMERSHIELD_LEVELS_H */
