/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * "timershield blame" against what a victim and its culprits count themselves. A scenario
 * is what blame runs as its command: loads that arm timers, and a victim that reads the
 * clock and adds up the gaps.
 */
#ifndef TESTS_BLAME_H
#define TESTS_BLAME_H

#include "tap.h"
#include "task.h"

#include <stdatomic.h>

#define BLAME_LOADS 32
#define BLAME_COUNTERS 24
#define BLAME_SPIN (1000 * MSEC)
#define BLAME_PERIOD (2 * MSEC)

/* What the scenario knows; a file that its processes share, and the test reads. */
struct blame_truth {
	pid_t victim;
	atomic_uint ready, done;
	u64 first, gap_total;
	unsigned int gaps;
	u64 late_total, late_longest;	/* of what BLAME_LATE() was told */
	unsigned int jobs, late_jobs;	/* and how often; longer than BLAME_PERIOD */
	struct {
		pid_t pid;
		char name[16];
		atomic_uint count;
	} loads[BLAME_LOADS];
	u64 counters[BLAME_COUNTERS];	/* the kernel's own, during the victim's loop */
};

extern struct blame_truth *truth;

struct blame_load {
	const char *name;
	void (*run)(unsigned int load);
	unsigned int ready;		/* so many of its threads call blame_ready() */
};

struct blame_scenario {
	const char *name;
	struct policy victim;
	struct blame_load loads[BLAME_LOADS];	/* until one without a name */
	void (*count)(u64 *counters);	/* called by the victim before and after its loop */
	void (*loop)(void);		/* the victim's own, instead of one that reads the clock */
	unsigned int until;		/* the loop lasts until the first load has counted so much */
	unsigned int linger;		/* the loads live for so many ms longer than the victim */
};

/* main() of such a test. */
int blame_main(int argc, char **argv, const struct blame_scenario *scenarios);

/* When the Ith of COUNT timers expires: spread over nine tenths of the victim's loop. */
u64 blame_expiry(unsigned int i, unsigned int count);

/* The victim's loop was kept from its work for so long, by its own count. */
void blame_late(u64 time);

void blame_ready(void);
void blame_await_end(void);

/* For a program that a load executes: sets truth. */
void blame_map(void);

/* Before blame_run(): starts a process that runs this, and waits for so many blame_ready(). */
void blame_prepare(unsigned int ready, void (*run)(void));

/* Runs blame on a scenario; returns the victim's part of its JSON. */
char *blame_run(const char *scenario);

/* What a scenario's victim counts without blame. */
struct blame_truth blame_without(const char *scenario);

/* Of which culprits; NULL, "" and 0: of whichever. */
struct blame_wanted {
	const char *kind, *name, *how, *function, *unit, *masked;
	const char *comm;		/* of the process and of its threads */
	pid_t thread;
};

/* The sum of a number over such culprits. */
double blame_sum(const char *victim, struct blame_wanted wanted, const char *key);

/* Whether blame counted what they counted themselves, within 1 %, or SLACK if that is more. */
void blame_check(const char *what, double counted, double own, double slack);

/* On which place of blame's table a culprit of this kind is, from 1 on, NAME and HOW in it; 0: none. */
unsigned int blame_place(const char *victim, const char *kind, const char *name, const char *how);

/* The number after "KEY": from TEXT on, or -1. */
double blame_number(const char *text, const char *key);

#endif
