/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Caches as most processors have them, for the plugin: of each CPU 32 KiB for
 * instructions and 32 KiB for data, 8 ways, and behind them 1 MiB, 16 ways, for both.
 * Lines have 64 bytes; the one that was used longest ago makes room. No prefetching,
 * no other CPU that takes lines away, no page walks.
 */
#ifndef CACHES_H
#define CACHES_H

#include <stdint.h>
#include <string.h>

#define LINE_BITS 6
#define L1_SETS 64
#define L1_WAYS 8
#define L2_SETS 1024
#define L2_WAYS 16

struct caches {
	/* Lines + 1 of each set, the one used last first */
	uint64_t instructions[L1_SETS * L1_WAYS];
	uint64_t data[L1_SETS * L1_WAYS];
	uint64_t l2[L2_SETS * L2_WAYS];
	uint64_t l1_misses;
	uint64_t l2_misses;
};

/* Whether a line is in its set; it is there afterwards. */
static inline int cache_hit(uint64_t *sets, unsigned int count, unsigned int ways, uint64_t line)
{
	uint64_t *set = sets + line % count * ways;
	unsigned int way = 0;

	while (way < ways - 1 && set[way] != line + 1)
		way++;
	if (set[way] == line + 1) {
		memmove(set + 1, set, way * sizeof(*set));
		set[0] = line + 1;
		return 1;
	}
	memmove(set + 1, set, (ways - 1) * sizeof(*set));
	set[0] = line + 1;
	return 0;
}

static inline void caches_access(struct caches *caches, uint64_t *l1, uint64_t line)
{
	if (cache_hit(l1, L1_SETS, L1_WAYS, line))
		return;
	caches->l1_misses++;
	caches->l2_misses += !cache_hit(caches->l2, L2_SETS, L2_WAYS, line);
}

#endif
