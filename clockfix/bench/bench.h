/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench.h - clockfix-bench: shared parts */
#ifndef CLOCKFIX_BENCH_H
#define CLOCKFIX_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "waits.h"

static inline int64_t bench_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static inline int64_t now_ns(void)
{
	return bench_clock(CLOCK_MONOTONIC);
}

struct bench_options {
	int cpu;
	int priority;		/* SCHED_FIFO, 0: SCHED_OTHER */
	uint64_t jobs;		/* per cell at most */
	double seconds;		/* per cell at most */
	unsigned int rounds;
	const char *intervals, *rivals;
	bool quiet, json, costs;
};

#define ROUNDS_MOST 1000

struct cell {			/* one rival at one interval */
	int64_t interval;
	size_t rival;
	int64_t *late;
	uint64_t count, limit;
	int64_t cpu, elapsed;	/* ns */
	uint64_t random;	/* state of the generator that spreads intervals */
	bool warm;		/* it ran in an earlier round */
	struct clockfix *timer;	/* of the rivals that have one */
	struct clockfix_sleeper *sleeper;	/* of the others */
};

/* ---- rivals.c --------------------------------------------------------------------------- */

struct rival {
	const char *name;
	/* in a thread of its own; NULL: clockfix, a job */
	void (*wait)(int64_t instant, struct clockfix_sleeper *sleeper);
	int estimator;
};

extern const struct rival rivals[];
extern const size_t rivals_count;

int thread_prepare(const struct bench_options *opt);

/* Let a rival do that many jobs, or until then. */
int rival_run(const struct bench_options *opt, struct cell *cell, uint64_t jobs, int64_t until);

/* ---- compare.c, costs.c: what main() returns ------------------------------------------------ */

int bench_compare(const struct bench_options *opt);
int bench_costs(const struct bench_options *opt);

#endif
