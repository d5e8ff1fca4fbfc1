/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stats.h - statistics: written by one thread, read by any
 *
 * As there is one writer, counting up is a load and a store; no locked instruction.
 */
#ifndef CLOCKFIX_STATS_H
#define CLOCKFIX_STATS_H

#include <stdatomic.h>
#include <stddef.h>

#include "clockfix.h"

struct histogram {
	_Atomic uint64_t count;
	_Atomic int64_t sum;
	_Atomic int64_t max;
	_Atomic uint64_t bucket[CLOCKFIX_HISTOGRAM_BUCKETS];
};

struct stats {
	_Atomic uint64_t jobs, cancelled, sleeps, disturbed, deferred, trials, missed;
	_Atomic uint64_t late, counter_faults;
	_Atomic int64_t prediction, learning_cost, polled, longest_job, late_ppm, cpu_ppm, limit;
	struct histogram lateness, oversleep, polling;
};

static inline void stat_set(_Atomic int64_t *stat, int64_t val)
{
	atomic_store_explicit(stat, val, memory_order_relaxed);
}

static inline void stat_set_count(_Atomic uint64_t *stat, uint64_t val)
{
	atomic_store_explicit(stat, val, memory_order_relaxed);
}

static inline void stat_add(_Atomic uint64_t *stat, uint64_t n)
{
	stat_set_count(stat, atomic_load_explicit(stat, memory_order_relaxed) + n);
}

void histogram_add(struct histogram *histogram, int64_t val);

/* all but pending */
void stats_copy(const struct stats *stats, struct clockfix_stats *to);

#endif
