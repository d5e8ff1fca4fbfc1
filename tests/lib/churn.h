/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Timer churn: workers that arm, cancel, change and wait for timers of all
 * kinds and account for every one of them, and disturbers that change what the
 * shield depends on under their feet.
 */
#ifndef TESTS_CHURN_H
#define TESTS_CHURN_H

#include "tap.h"

#include <sys/types.h>

#define MAX_WORKERS 96
#define MAX_CPUS 16

/* What a worker may be found guilty of. */
enum fault {
	LOST,		/* an armed timer that did not fire */
	EARLY,		/* one that fired before it was due */
	MISCOUNTED,	/* fired more than once, or a wrong number of periods */
	BROKEN,		/* a call failed */
	FAULTS
};

struct churn;

struct worker {
	const char *kind;
	void (*run)(struct worker *worker);
	struct churn *churn;
	u64 random;			/* state of its generator */
	pid_t pid;

	u64 armed, fired, cancelled;	/* armed = fired + cancelled in the end */
	u64 late;			/* the worst, ns */
	u64 due;			/* the earliest of its pending timers; 0: none */
	unsigned int faults[FAULTS];
	char first[FAULTS][120];	/* what the first of each kind was */
	bool finished;
};

/* Shared by all processes. */
struct churn {
	unsigned int stop;		/* workers: finish what is armed, and end */
	unsigned int pause;		/* disturbers: let everything come to rest */
	unsigned int clock_sets;	/* odd while the clock is being set */
	unsigned int loads;		/* of the module */
	unsigned int busy;		/* disturbers whose end a pause waits for */
	bool steady;			/* neither ever is */
	int cpus;
	unsigned int count;		/* of workers; disturbers have none of them */
	struct worker workers[MAX_WORKERS];
};

/* A number below LIMIT. */
u64 pick(u64 *random, u64 limit);

/* One from LOW to HIGH. */
u64 pick_between(u64 *random, u64 low, u64 high);

/* How long the next timer shall run: mostly short, ns; longer on a slow kernel. */
u64 pick_delay(u64 *random);

bool churn_stopped(const struct churn *churn);

/* How long each CPU has been idle, ns; CPU_IS_OFFLINE where there is none. */
struct idle_times {
	u64 cpus[MAX_CPUS];
};

#define CPU_IS_OFFLINE UINT64_MAX

void read_idle_times(struct idle_times *times);

/* How long the busiest of the CPUs that are online before and after was idle, ns. */
u64 least_idle(const struct idle_times *before, const struct idle_times *after);

void blame(struct worker *worker, enum fault fault, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A timer due at DUE fired: counts it, its lateness, and whether it was early. */
void account(struct worker *worker, u64 due, const char *what);

/* Workers; each runs until the churn is stopped. */
void churn_sleep(struct worker *worker);
void churn_interrupted_wait(struct worker *worker);
void churn_pi_lock(struct worker *worker);
void churn_timerfd(struct worker *worker);
void churn_posix_timer(struct worker *worker);
void churn_itimer(struct worker *worker);
void churn_exit(struct worker *worker);

/* Disturbers; each runs for ever. */
struct disturber {
	struct churn *churn;
	u64 random;
};

void disturb_by_load(struct disturber *disturber);
void disturb_policies(struct disturber *disturber);
void disturb_switch(struct disturber *disturber);
void disturb_clock(struct disturber *disturber);
void disturb_cpus(struct disturber *disturber);

#endif
