/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A periodic loop that measures how late it wakes up, and what it loses while it runs. */
#ifndef TIMERSHIELD_MEASURE_LOOP_H
#define TIMERSHIELD_MEASURE_LOOP_H

#include "blame/blame_types.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#define HISTOGRAM_US 65536		/* buckets of 1 us; what is longer is in the last one */
#define WORST 10
#define CANDIDATES 64

struct wakeup {
	u64 expected, actual;		/* ns */
};

struct loop {
	unsigned int cpu;
	int priority;
	u64 interval, end;		/* ns; end: on CLOCK_MONOTONIC */
	u64 read;			/* of the clock, ns */

	/* what it found; read them when it has ended */
	u64 wakeups, missed, total, shortest, longest;
	u64 histogram[HISTOGRAM_US];
	u64 spun, lost, gaps, longest_gap;
	struct wakeup worst[WORST];	/* in no order */

	/* wake-ups that were among the worst, for whoever looks for their reasons */
	struct wakeup candidates[CANDIDATES];
	atomic_uint filled;
	atomic_ullong latest;		/* the longest so far, while it goes on; ns */

	atomic_bool going, stop, ended;
	atomic_int tid;
	int error;			/* -errno */
	pthread_t thread;
	bool created;			/* the thread */
};

/* Starts the thread, which waits for loop_go(). 0 or -errno. */
int loop_start(struct loop *loop);
void loop_go(struct loop *loop, u64 time);

/* Stops it and waits for its end. */
void loop_join(struct loop *loop);

/* The latency that so many of a million wake-ups did not exceed, us, rounded up. */
u64 loop_percentile(const struct loop *loop, unsigned int of_a_million);

#endif
