/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The load that all contenders carry: the same timers, expiries, levels and
 * thresholds in the same order, in memory laid out the same way.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include "contender.h"

#define MAX_QUEUES	BATCH
/* Rounds that one contender does before the next has its turn */
#define BLOCK		32

enum operation { DEQUEUE, ENQUEUE, QUERY, POP, SERVE, NR_OPERATIONS };
extern const char *const operation_name[NR_OPERATIONS];

struct load {
	unsigned int timers;	/* in each queue */
	bool many_levels;	/* 1 to 99 at random, else all the same */
};

/* What one round does to its BATCH timers, the same for all contenders */
struct round {
	u32 index[BATCH];
	u64 delay[2][BATCH];	/* of the enqueued and the re-armed timers */
	u8 level[2][BATCH];
	u8 threshold[BATCH];
};

/* One contender under this load */
struct arena {
	const struct contender *contender;
	void *queue[MAX_QUEUES];
	ktime_t now[MAX_QUEUES];
	unsigned char *slots;
};

unsigned int nr_queues(const struct load *load);
void random_seed(u64 seed);
void random_round(const struct load *load, struct round *round);
int arena_fill(struct arena *arena, const struct contender *contender,
	       const struct load *load, u64 seed);
void arena_free(struct arena *arena);
void arena_round(struct arena *arena, const struct load *load,
		 const struct round *round, u64 *ticks);
unsigned int arena_serve(struct arena *arena, const struct load *load, u64 *ticks);

#endif /* WORKLOAD_H */
