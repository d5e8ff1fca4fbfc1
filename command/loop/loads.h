/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads that set timers next to a measured task: processes without privileges, on its CPU.
 *
 * Times in ns of CLOCK_MONOTONIC. What loads record lies in one shared mapping, so that their
 * processes write it without system calls and the parent reads it when they have ended. They end
 * with the parent, however that ends.
 */
#ifndef LOOP_LOADS_H
#define LOOP_LOADS_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
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
struct load_task {
	const char *kind;
	int policy;
	int priority;
	bool unprivileged;
	int64_t period;
	int64_t phase;		/* first release, since time zero */
	int64_t expected;	/* releases that had to be served */
	int64_t served;
	int64_t early;		/* served before they were due */
	struct release *releases;	/* NULL: not recorded */
};

/* Shared by all processes. */
struct shared {
	atomic_int ready;	/* tasks waiting for time zero */
	atomic_int go;		/* futex: time zero is set */
	int64_t zero;		/* time zero */
	int64_t stop;		/* releases after it are not served */
	_Atomic uint64_t spare;	/* rounds of the SCHED_IDLE counter */
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

struct loads {
	/* how they are to be; everything else is 0 at first */
	int cpu;
	bool anywhere;		/* on every CPU */
	bool spare;		/* count the work that a SCHED_IDLE task can do */
	uint64_t seed;		/* of random periods and phases */
	int64_t span;		/* sleepers record their releases for so long; 0: not at all */
	const char *name;	/* of their processes; NULL: the program's */
	const char *group;	/* directory of the cgroup of those that are not real-time; NULL: the program's */

	struct shared *shared;
	struct load_task *tasks;
	int task_count;
	pid_t *children;
	int child_count;
};

/* Set by a signal: whoever waits for loads gives up with -EINTR. */
extern volatile sig_atomic_t loads_interrupted;

void loads_describe(FILE *out);

/* Memory that processes share; NULL: there is none. */
void *shared_alloc(size_t size);

/* Allocates what all have in common. All return 0 or -errno; some print a message. */
int loads_plan(struct loads *loads);

/* Adds one by its description, such as "timerfds:n=1000"; -EINVAL: no such load or setting. */
int loads_add(struct loads *loads, const char *text);

/* Starts the processes, and waits until all are ready. */
int loads_start(struct loads *loads);
int loads_wait_ready(struct loads *loads);

/* A time zero half-way between two ticks, at least LEAD from now. */
int64_t loads_zero(int64_t lead);

/* Lets them begin at time ZERO; until STOP. */
void loads_go(struct loads *loads, int64_t zero, int64_t stop);

/* Waits for their end after STOP; -ECHILD if one of them failed. */
int loads_finish(struct loads *loads);

bool loads_have_ended(const struct loads *loads);	/* one of them */

/* Kills what is left of them, and frees everything. */
void loads_end(struct loads *loads);

/* Forks a process of a load, on the loads' CPUs; 0 in it, else its id or -errno. */
int load_fork(struct loads *loads);

/* What the loads' processes do; each returns the process's exit status. */
int sleepers_run(struct loads *loads, struct load_task *tasks, int count);
int timerfds_run(struct loads *loads, struct load_task *tasks, int count);
int posix_timers_run(struct loads *loads, struct load_task *tasks, int count);
int itimer_run(struct loads *loads, struct load_task *task);
int spare_run(struct loads *loads);

/* task.c: helpers of the above */
int loop_pin(int cpu);
int task_become(const struct load_task *task);
void task_ready_and_wait(struct loads *loads, int tasks);
int64_t releases_due(const struct load_task *task, int64_t since_zero);
uint64_t random_next(uint64_t *state);

#endif
