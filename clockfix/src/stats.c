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

/* the least value that bucket @i counts */
static int64_t floor_of(unsigned int i)
{
	unsigned int shift;

	if (i < SUBS)
		return i;
	if (i >= CLOCKFIX_HISTOGRAM_BUCKETS)
		i = CLOCKFIX_HISTOGRAM_BUCKETS - 1;
	shift = (i >> SUB_BITS) - 1;
	return (int64_t)(i - (shift << SUB_BITS)) << shift;
}

void clockfix_histogram_add(struct clockfix_histogram *h, int64_t val)
{
	stat_add(&h->bucket[bucket_of(val)], 1);
	stat_add(&h->sum, val);
	if (val > h->max)
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
			int64_t top = floor_of(i + 1) - 1;

			return top > h->max || i == CLOCKFIX_HISTOGRAM_BUCKETS - 1 ? h->max : top;
		}
	}
	return h->max;
}

void stats_copy(const struct clockfix_stats *stats, struct clockfix_stats *to)
{
	const uint64_t *from = (const uint64_t *)stats;
	uint64_t *word = (uint64_t *)to;

	_Static_assert(sizeof(*to) % sizeof(*word) == 0, "words, each of which is read at once");
	for (size_t i = 0; i < sizeof(*to) / sizeof(*word); i++)
		word[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	to->size = sizeof(*to);
}
