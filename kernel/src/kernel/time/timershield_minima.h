/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The paper's query structure: a segment tree of the earliest expiry at each level.
 * It answers in O(log levels): the earliest expiry at or above a level, and the
 * highest level that has something expired. The module for stock kernels uses this
 * file, too: what includes it provides struct timershield_minima.
 */
#ifndef _KERNEL_TIME_TIMERSHIELD_MINIMA_H
#define _KERNEL_TIME_TIMERSHIELD_MINIMA_H

#include <linux/minmax.h>

/* The earliest expiry of all */
static __always_inline ktime_t minima_all(const struct timershield_minima *minima)
{
	return READ_ONCE(minima->first[1]);
}

static __always_inline ktime_t minima_of(const struct timershield_minima *minima, u8 level)
{
	return minima->first[TIMERSHIELD_LEVELS + level];
}

/* Something at @level expires at @expires. */
static __always_inline void minima_lower(struct timershield_minima *minima, u8 level,
					 ktime_t expires)
{
	unsigned int i = TIMERSHIELD_LEVELS + level;

	for (; i && expires < minima->first[i]; i /= 2)
		WRITE_ONCE(minima->first[i], expires);
}

/* The earliest expiry at @level is @expires from now on. */
static inline void minima_set(struct timershield_minima *minima, u8 level, ktime_t expires)
{
	unsigned int i = TIMERSHIELD_LEVELS + level;

	minima->first[i] = expires;
	while (i > 1) {
		expires = min(expires, minima->first[i ^ 1]);
		i /= 2;
		if (minima->first[i] == expires)
			return;
		WRITE_ONCE(minima->first[i], expires);
	}
}

/* The level with the earliest expiry at or above @level; 0 if there is none */
static inline u8 minima_earliest(const struct timershield_minima *minima, u8 level)
{
	const ktime_t *first = minima->first;
	unsigned int i = TIMERSHIELD_LEVELS + level, best = i;

	if (level <= TIMERSHIELD_ORDINARY)
		best = 1;
	else
		for (; i > 1; i /= 2)
			if (!(i & 1) && first[i + 1] < first[best])
				best = i + 1;
	if (first[best] == KTIME_MAX)
		return 0;
	while (best < TIMERSHIELD_LEVELS)
		best = 2 * best + (first[2 * best] > first[best]);
	return best - TIMERSHIELD_LEVELS;
}

/* The highest level that has something expired at @now; 0 if none has */
static inline u8 minima_highest(const struct timershield_minima *minima, ktime_t now)
{
	unsigned int i = 1;

	if (minima->first[1] > now)
		return 0;
	while (i < TIMERSHIELD_LEVELS)
		i = 2 * i + (minima->first[2 * i + 1] <= now);
	return i - TIMERSHIELD_LEVELS;
}

#endif /* _KERNEL_TIME_TIMERSHIELD_MINIMA_H */
