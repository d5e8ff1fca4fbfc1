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
	uint32_t poll_share, effort;
	const char *intervals, *rivals;
	const char *json, *csv, *plot;
	bool quiet, peers;
};

/* ---- samples.c -------------------------------------------------------------------------- */

struct sample {
	int64_t start;		/* CLOCK_MONOTONIC */
	int64_t late;
};

#define CDF_POINTS 400

struct summary {
	uint64_t count, early;
	int64_t p1, p50, p95, p99, p999, max;
	double over_1us;	/* share */
	int64_t cdf[CDF_POINTS + 1];
};

struct cell {			/* one rival at one interval */
	int64_t interval;
	size_t rival;
	struct sample *sample;
	uint64_t count, limit;
	int64_t cpu, elapsed;	/* ns */
	double most;		/* CPU time of a round, in percent */
	uint64_t random;	/* state of the generator that spreads intervals */
	bool warm;		/* it ran in an earlier round */
	struct clockfix *timer;	/* of the rivals that have one */
	struct wait_state wait;	/* of the others */
	struct summary all, unstolen;
};

void cell_summarise(struct cell *cell);

/* Watch for CPU time stolen by the hypervisor from a CPU; a thread on another one. */
int steal_watch(int cpu);
void steal_unwatch(void);
bool steal_at(int64_t start, int64_t late);
double steal_total_ms(void);

/* ---- rivals.c --------------------------------------------------------------------------- */

struct rival {
	const char *name;
	const char *text;
	/* in a thread of its own; NULL: clockfix, a job */
	void (*wait)(int64_t instant, struct wait_state *state);
	bool peer;		/* with --peers only */
	int estimator, missed;
	uint32_t effort;	/* 0: that of the options */
};

extern const struct rival rivals[];
extern const size_t rivals_count;

int thread_prepare(const struct bench_options *opt);

/* Let a rival do that many jobs, or until then. */
int rival_run(const struct bench_options *opt, struct cell *cell, uint64_t jobs, int64_t until);

/* ---- report.c --------------------------------------------------------------------------- */

void report_table(FILE *to, const struct cell *cells, size_t count);
void report_goals(FILE *to, const struct cell *cells, size_t count);
int report_csv(const char *path, const struct cell *cells, size_t count);
int report_json(const char *path, const struct cell *cells, size_t count,
		const struct bench_options *opt);

/* ---- verbs ------------------------------------------------------------------------------ */

int verb_compare(const struct bench_options *opt, int argc, char **argv);
int verb_submit(const struct bench_options *opt, int argc, char **argv);
int verb_estimators(const struct bench_options *opt, int argc, char **argv);
int verb_record(const struct bench_options *opt, int argc, char **argv);
int verb_capabilities(const struct bench_options *opt, int argc, char **argv);

#endif
