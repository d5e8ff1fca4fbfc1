/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A periodic real-time job, and loads that set timers next to it.
 *
 * All times in ns of CLOCK_MONOTONIC unless the name says otherwise; everything
 * that is recorded lies in one shared, locked mapping, so that load processes
 * write it without system calls and the parent reads it when they have ended.
 */
#ifndef LAB_RESPONSE_H
#define LAB_RESPONSE_H

#include "options.h"
#include "tasks.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* When a sleeper's job was due, and how much later it ran and was done. */
struct release {
	int64_t due;		/* since time zero */
	int64_t lateness;	/* negative: woken too early */
	int64_t response;
};

/* A task, or a timer, of a load. */
struct task {
	const char *kind;
	int policy;
	int priority;
	bool unprivileged;
	int64_t period;
	int64_t phase;		/* first release, since time zero */
	int64_t expected;	/* releases that had to be served */
	int64_t served;
	int64_t early;		/* served before they were due */
	struct release *releases;
};

/* One job of the measured loop. */
struct job {
	int64_t due;		/* since time zero */
	int64_t latency;	/* from due to its first instruction */
	int64_t response;	/* from due to its last instruction */
	int64_t interruptions;	/* gaps between two looks at the counter */
	int64_t stolen;		/* counter ticks lost in them */
	int64_t products;	/* matrix multiplications, if that is its work */
};

struct options {
	int jobs;
	int warmup;
	int cpu;
	int priority;
	int64_t period;
	int64_t work;		/* rounds of work in a job; 0: calibrate */
	int64_t gap;		/* a longer pause is an interruption */
	int64_t matrix;		/* multiply matrices for so long instead */
	int64_t products;	/* or do so many multiplications */
	uint64_t seed;
	bool spare;
	bool arm;		/* arm and cancel a timer in each job */
	bool calibrate;
	bool anywhere;		/* loads may run on every CPU */
};

/* Shared by all processes. */
struct shared {
	atomic_int ready;	/* tasks waiting for time zero */
	atomic_int go;		/* futex: time zero is set */
	int64_t zero;		/* time zero */
	int64_t stop;		/* releases after it are not served */
	_Atomic uint64_t spare;	/* rounds of the SCHED_IDLE counter */
};

/* Everything about a run. */
struct run {
	struct options options;
	struct shared *shared;
	struct task *tasks;
	int timerfd;
	int task_count;
	int task_room;
	struct job *jobs;
	pid_t *children;
	int child_count;
	int64_t round_ticks;	/* counter ticks of an undisturbed round */
	double ticks_per_ns;
	uint64_t spare_rounds;
	int64_t window;		/* how long spare_rounds took */
	uint64_t timer_interrupts;
	uint64_t switches;
};

/* How a load's description is split: name, then key=value. */
struct load {
	const char *name;
	int count;
	int priority;		/* -1: spread over many */
	bool synchronized;
	int64_t period;		/* 0: drawn from those that "periods" names */
	char periods[16];
};

#define MAX_LOADS 8

struct loads {
	struct load load[MAX_LOADS];
	int count;
};

/* The options of a periodic job next to loads. */
#define JOB_OPTIONS(o, loads) \
	{ 'n', "jobs", OPT_NUMBER(&(o)->jobs, 1, 10000000) }, \
	{ 'w', "warmup", OPT_NUMBER(&(o)->warmup, 0, 100000) }, \
	{ 'p', "period", OPT_WIDE(&(o)->period, 10000, NSEC_PER_SEC) }, \
	{ 'W', "work", OPT_WIDE(&(o)->work, 1, NSEC_PER_SEC) }, \
	{ 'P', "priority", OPT_NUMBER(&(o)->priority, 1, 99) }, \
	{ 'c', "cpu", OPT_NUMBER(&(o)->cpu, 0, CPU_SETSIZE - 1) }, \
	{ 'S', "seed", OPT_WIDE((int64_t *)&(o)->seed, 0, INT64_MAX) }, \
	{ 'l', "load", OPT_TEXT(loads_add, loads) }

/* run.c */
void loads_add(char *text, void *loads);
/* Have memory for all samples, and the tasks of @loads; ends the program if that fails. */
void run_plan(struct run *run, const struct loads *loads);
/* Run the loads, @meanwhile (or NULL) and @job, and leave the results; 0 or -errno. */
int run_measure(struct run *run, int (*meanwhile)(struct run *), int (*job)(struct run *));
/* Sets time zero, and has @one do job after job; the caller is SCHED_OTHER then. */
int run_jobs(struct run *run, void (*one)(struct run *run, int64_t due, struct job *job));

/* job.c */
void job_calibrate(struct run *run);
int job_run_all(struct run *run);

/* load.c */
int load_parse(const char *text, struct load *load);
void load_describe(FILE *out);
int load_plan(struct run *run, const struct load *load);
/* Fork a process of a load, on the loads' CPUs; 0 in it, else its id or -errno. */
int load_fork(struct run *run);
int load_start(struct run *run);
int load_wait_ready(struct run *run);
int load_finish(struct run *run);
void load_kill(struct run *run);

/* What the loads' processes do; each returns the process's exit status. */
int sleepers_run(struct run *run, struct task *tasks, int count);
int timerfds_run(struct run *run, struct task *tasks, int count);
int posix_timers_run(struct run *run, struct task *tasks, int count);
int itimer_run(struct run *run, struct task *task);
int spare_run(struct run *run);

/* task.c: helpers of the above */
void task_ready_and_wait(struct run *run, int tasks);
int task_become(const struct task *task);
int64_t releases_due(const struct task *task, int64_t since_zero);
void *shared_alloc(size_t size);
uint64_t random_next(uint64_t *state);

/* record.c */
void record_write(const struct run *run);
void record_counters(struct run *run, bool end);

#endif
