// SPDX-License-Identifier: LGPL-2.1-or-later
/* stats.c - statistics */
#include "stats.h"

#define SUB_BITS 4	/* a power of two is divided into 16 */
#define SUBS (1 << SUB_BITS)

static unsigned int bucket_of(int64_t val)
{
	unsigned int shift, i;

	if (val < SUBS)
		return val < 0 ? 0 : val;
	shift = 63 - __builtin_clzll(val) - SUB_BITS;
	i = (shift << SUB_BITS) + (val >> shift);
	return i < CLOCKFIX_HISTOGRAM_BUCKETS ? i : CLOCKFIX_HISTOGRAM_BUCKETS - 1;
}

int64_t clockfix_histogram_floor(unsigned int i)
{
	unsigned int shift;

	if (i < SUBS)
		return i;
	if (i >= CLOCKFIX_HISTOGRAM_BUCKETS)
		i = CLOCKFIX_HISTOGRAM_BUCKETS - 1;
	shift = (i >> SUB_BITS) - 1;
	return (int64_t)(i - (shift << SUB_BITS)) << shift;
}

void histogram_add(struct histogram *h, int64_t val)
{
	stat_add(&h->bucket[bucket_of(val)], 1);
	stat_set(&h->sum, atomic_load_explicit(&h->sum, memory_order_relaxed) + val);
	if (val > atomic_load_explicit(&h->max, memory_order_relaxed))
		stat_set(&h->max, val);
	stat_add(&h->count, 1);
}

int64_t clockfix_histogram_quantile(const struct clockfix_histogram *h, double q)
{
	uint64_t total = 0, seen = 0;
	double rank;

	if (!h)
		return 0;
	/* not h->count: it may have been read a moment before or after the buckets */
	for (unsigned int i = 0; i < CLOCKFIX_HISTOGRAM_BUCKETS; i++)
		total += h->bucket[i];
	if (!total)
		return 0;
	rank = q * total;
	for (unsigned int i = 0; i < CLOCKFIX_HISTOGRAM_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen && seen >= rank) {
			int64_t top = clockfix_histogram_floor(i + 1) - 1;

			return top > h->max || i == CLOCKFIX_HISTOGRAM_BUCKETS - 1 ? h->max : top;
		}
	}
	return h->max;
}

static void histogram_copy(const struct histogram *h, struct clockfix_histogram *to)
{
	to->count = atomic_load_explicit(&h->count, memory_order_relaxed);
	to->sum = atomic_load_explicit(&h->sum, memory_order_relaxed);
	to->max = atomic_load_explicit(&h->max, memory_order_relaxed);
	for (unsigned int i = 0; i < CLOCKFIX_HISTOGRAM_BUCKETS; i++)
		to->bucket[i] = atomic_load_explicit(&h->bucket[i], memory_order_relaxed);
}

void stats_copy(const struct stats *stats, struct clockfix_stats *to)
{
#define COPY(name) (to->name = atomic_load_explicit(&stats->name, memory_order_relaxed))
	COPY(jobs);
	COPY(cancelled);
	COPY(sleeps);
	COPY(disturbed);
	COPY(deferred);
	COPY(trials);
	COPY(missed);
	COPY(late);
	COPY(counter_faults);
	COPY(prediction);
	COPY(learning_cost);
	COPY(polled);
	COPY(longest_job);
	COPY(late_ppm);
	COPY(cpu_ppm);
	COPY(limit);
#undef COPY
	to->size = sizeof(*to);
	to->pending = 0;
	histogram_copy(&stats->lateness, &to->lateness);
	histogram_copy(&stats->oversleep, &to->oversleep);
	histogram_copy(&stats->polling, &to->polling);
}
