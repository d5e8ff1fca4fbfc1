/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A periodic real-time job next to the loads of command/loop, and what it leaves behind.
 *
 * All times in ns of CLOCK_MONOTONIC unless the name says otherwise.
 */
#ifndef RUN_H
#define RUN_H

#include "control_loop.h"
#include "loads.h"
#include "options.h"

struct options {
	int jobs;
	int warmup;
	int priority;
	int64_t work;		/* rounds of work in a job; 0: calibrate */
	int64_t gap;		/* a round longer by this was interrupted; 0: calibrate */
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
	struct control_loop loop;
	struct periodic periodic;
	const char *descriptions[MAX_LOADS];
	int description_count;
	struct job *jobs;
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
	  OPT_WIDE(&(run)->periodic.period, 10000, NSEC_PER_SEC) }, \
	{ "work", "ROUNDS", "work in a job", OPT_WIDE(&(run)->options.work, 1, NSEC_PER_SEC) }, \
	{ "priority", "N", "the job's SCHED_FIFO priority (99)", \
	  OPT_NUMBER(&(run)->options.priority, 1, 99) }, \
	{ "cpu", "N", "the job's CPU (0)", OPT_NUMBER(&(run)->loads.cpu, 0, CPU_SETSIZE - 1) }, \
	{ "anywhere", NULL, "loads may run on every CPU (on the job's only)", \
	  OPT_FLAG(&(run)->loads.anywhere) }, \
	{ "seed", "N", "seed of random periods and phases (1)", \
	  OPT_WIDE((int64_t *)&(run)->loads.seed, 0, INT64_MAX) }, \
	{ "load", "KIND[:n=N][,SETTING]...", "see below; may be repeated", OPT_TEXT(run_add, run) }

/* What --help says of loads. */
void run_describe_loads(FILE *out);
void run_add(char *text, void *run);
/* Have memory for all samples, and plan the loads; ends the program if that fails. */
void run_plan(struct run *run);
/* Run the loads and @job, and leave the results; 0 or -errno. */
int run_measure(struct run *run, int (*job)(struct run *));
/* Become SCHED_FIFO, set time zero and do all jobs; the caller is SCHED_OTHER then. 0 or -errno. */
int run_jobs(struct run *run);

#endif
