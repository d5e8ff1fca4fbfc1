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

/* set by SIGINT and SIGTERM: finish with what there is */
extern volatile bool interrupted;

struct bench_options {
	int cpu;
	int priority;		/* SCHED_FIFO, 0: SCHED_OTHER */
	uint64_t jobs;		/* per cell at most */
	double seconds;		/* per cell at most */
	unsigned int rounds;
	uint32_t late_ppm, cpu_ppm;
	const char *intervals, *rivals;
	const char *json;
	bool quiet, peers;
};

/* ---- samples.c -------------------------------------------------------------------------- */

void sort_ns(int64_t *ns, size_t count);

#define CDF_POINTS 400

struct summary {
	uint64_t count, early;
	int64_t p1, p50, p95, p99, p999, max;
	double over_1us;	/* share */
	double cpu;		/* share of a CPU */
	double p99_error, over_1us_error;	/* standard errors, by how rounds differ */
	int64_t cdf[CDF_POINTS + 1];
};

#define ROUNDS_MOST 1000

struct cell {			/* one rival at one interval */
	int64_t interval;
	size_t rival;
	int64_t *late;
	uint64_t count, limit;
	uint64_t round_end[ROUNDS_MOST];
	unsigned int rounds;
	int64_t cpu, elapsed;	/* ns */
	double most;		/* CPU time of a round, in percent */
	uint64_t random;	/* state of the generator that spreads intervals */
	bool warm;		/* it ran in an earlier round */
	struct clockfix *timer;	/* of the rivals that have one */
	struct wait_state wait;	/* of the others */
	struct summary sum;
};

/* Sorts its samples. */
void cell_summarise(struct cell *cell);

/* CPU time that the hypervisor has taken from a CPU since it started, as the kernel tells */
double steal_ms(int cpu);

/* ---- rivals.c --------------------------------------------------------------------------- */

struct rival {
	const char *name;
	const char *text;
	/* in a thread of its own; NULL: clockfix, a job */
	void (*wait)(int64_t instant, struct wait_state *state);
	bool peer;		/* with --peers only */
	int64_t margin;		/* of wait_margin() */
	int missed;
	uint32_t late_ppm;	/* or PAPER_...; 0: that of the options */
};

extern const struct rival rivals[];
extern const size_t rivals_count;

int thread_prepare(const struct bench_options *opt);

/* Let a rival do that many jobs, or until then. */
int rival_run(const struct bench_options *opt, struct cell *cell, uint64_t jobs, int64_t until);

/* ---- report.c --------------------------------------------------------------------------- */

void report_table(FILE *to, const struct cell *cells, size_t count, double stolen);
/* Does any rival lie below our curve of lateness by CPU time, by more than the rounds differ? */
void report_curves(FILE *to, const struct cell *cells, size_t count);
int report_json(const char *path, const struct cell *cells, size_t count,
		const struct bench_options *opt, double stolen);

/* ---- verbs ------------------------------------------------------------------------------ */

int verb_compare(const struct bench_options *opt, int argc, char **argv);
int verb_costs(const struct bench_options *opt, int argc, char **argv);
int verb_capabilities(const struct bench_options *opt, int argc, char **argv);

#endif
