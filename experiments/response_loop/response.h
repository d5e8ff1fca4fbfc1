/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A periodic real-time job next to the loads of command/loop, and what it leaves behind.
 *
 * All times in ns of CLOCK_MONOTONIC unless the name says otherwise.
 */
#ifndef LAB_RESPONSE_H
#define LAB_RESPONSE_H

#include "loads.h"
#include "options.h"
#include "rounds.h"

/* One job of the measured loop. */
struct job {
	int64_t due;		/* since time zero */
	int64_t latency;	/* from due to its first instruction */
	int64_t response;	/* from due to its last instruction */
	struct interruptions seen;
	int64_t products;	/* matrix multiplications, if that is its work */
};

struct options {
	int jobs;
	int warmup;
	int priority;
	int64_t period;
	int64_t work;		/* rounds of work in a job; 0: calibrate */
	int64_t gap;		/* a longer pause is an interruption */
	int64_t matrix;		/* multiply matrices for so long instead */
	int64_t products;	/* or do so many multiplications */
	bool arm;		/* arm and cancel a timer in each job */
	bool calibrate;
};

#define MAX_LOADS 8

/* Everything about a run. */
struct run {
	struct options options;
	struct loads loads;
	const char *descriptions[MAX_LOADS];
	int description_count;
	int timerfd;
	struct job *jobs;
	int64_t round_ticks;	/* counter ticks of an undisturbed round */
	double ticks_per_ns;
	uint64_t spare_rounds;
	int64_t window;		/* how long spare_rounds took */
	uint64_t timer_interrupts;
	uint64_t switches;
};

/* The options of a periodic job next to loads. */
#define JOB_OPTIONS(run) \
	{ "jobs", "N", "jobs to record (1000)", \
	  OPT_NUMBER(&(run)->options.jobs, 1, 10000000) }, \
	{ "warmup", "N", "jobs before these", OPT_NUMBER(&(run)->options.warmup, 0, 100000) }, \
	{ "period", "NS", "a job's period (1000000)", \
	  OPT_WIDE(&(run)->options.period, 10000, NSEC_PER_SEC) }, \
	{ "work", "ROUNDS", "work in a job", OPT_WIDE(&(run)->options.work, 1, NSEC_PER_SEC) }, \
	{ "priority", "N", "the job's SCHED_FIFO priority (99)", \
	  OPT_NUMBER(&(run)->options.priority, 1, 99) }, \
	{ "cpu", "N", "the job's CPU (0)", OPT_NUMBER(&(run)->loads.cpu, 0, CPU_SETSIZE - 1) }, \
	{ "anywhere", NULL, "loads may run on every CPU (on the job's only)", \
	  OPT_FLAG(&(run)->loads.anywhere) }, \
	{ "seed", "N", "seed of random periods and phases (1)", \
	  OPT_WIDE((int64_t *)&(run)->loads.seed, 0, INT64_MAX) }, \
	{ "load", "KIND[:n=N][,SETTING]...", "see below; may be repeated", OPT_TEXT(run_add, run) }

/* run.c */
/* What --help says of loads. */
void run_describe_loads(FILE *out);
void run_add(char *text, void *run);
/* Have memory for all samples, and plan the loads; ends the program if that fails. */
void run_plan(struct run *run);
/* Run the loads, @meanwhile (or NULL) and @job, and leave the results; 0 or -errno. */
int run_measure(struct run *run, int (*meanwhile)(struct run *), int (*job)(struct run *));
/* Sets time zero, and has @one do job after job; the caller is SCHED_OTHER then. */
int run_jobs(struct run *run, void (*one)(struct run *run, int64_t due, struct job *job));

/* record.c */
void record_write(const struct run *run);
void record_counters(struct run *run, bool end);

#endif
