/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * wait.h - be there at an instant [IV]
 *
 * Sleep until shortly before, learn from how late that ended, poll for the rest.
 */
#ifndef CLOCKFIX_WAIT_H
#define CLOCKFIX_WAIT_H

#include <stdatomic.h>

#include "estimator.h"
#include "stats.h"

/* What a submitter wakes a sleeping worker by. */
struct wake {
	_Atomic uint32_t count;		/* changes of what the worker should wait for */
	_Atomic uint32_t sleeping;
	_Atomic int64_t instant;	/* for which it sleeps; INT64_MAX: for none */
};

struct waiter {
	struct estimator est;
	int64_t cost;			/* EMA of what learning costs, in 1/8 ns [IV.b] */
	bool deferred;			/* learning awaits the end of the job [IV.c] */
	int64_t until;			/* what it sleeps until */
	int64_t oversleep, length;	/* what it will learn */
	bool slept;			/* since the last job */
	uint32_t sleeps;
	int64_t rested;			/* when it last slept for long enough to leave the CPU */
	int64_t cpu;			/* of the thread, before a sleep whose cost is measured; or 0 */
	int64_t last;			/* end of the last wait */
	int64_t late_share, cpu_share, elapsed;	/* EMAs over some 256 jobs */
	int64_t very_late;		/* EMA over some 64 jobs */
	uint32_t plain;			/* waits that are still to be without polling */
	int64_t poll_start;		/* when polling began in this wait */
	int64_t started;		/* CLOCK_MONOTONIC at the end of the wait */
	int64_t way_back;		/* a sleeper's: from there until its caller can act */
	struct clockfix_stats *stats;
};

void waiter_init(struct waiter *waiter, const struct clockfix_options *options,
		struct clockfix_stats *stats);

#define WAIT_CHANGED 1

/*
 * Waiting has two parts, so that between them the caller can get everything ready.
 *
 * waiter_approach() sleeps and polls until less than 5 us are left. 0: so it is, or
 * the instant has passed; WAIT_CHANGED: @wake->count is not @count any more. Without @wake the
 * sleep is one of the calling thread's own: then also -EINTR.
 *
 * waiter_arrive() polls for the rest: 0 when CLOCK_MONOTONIC has reached @instant, which it does
 * not return before; waiter->started is what the clock showed. Or WAIT_CHANGED.
 */
int waiter_approach(struct waiter *waiter, int64_t instant, struct wake *wake, uint32_t count);
int waiter_arrive(struct waiter *waiter, int64_t instant, const struct wake *wake,
		  uint32_t count);

/*
 * The sleep of waiter_approach() in two parts, for a sleep that is somebody else's: until when to
 * sleep (0: there is no time to), and afterwards what is to be learned; that returns the time.
 */
int64_t waiter_plan(struct waiter *waiter, int64_t instant, int64_t now);
int64_t waiter_woke(struct waiter *waiter, int64_t instant);

/* The rest of waiter_approach(): poll until less than 5 us are left. */
int waiter_near(struct waiter *waiter, int64_t instant, int64_t now, const struct wake *wake,
		uint32_t count);

/* To be called after the job: statistics, and learning that was deferred. */
void waiter_ran(struct waiter *waiter, int64_t instant);

/* A plain sleep of the worker's until @until, for what is to be done at @instant: 0 or -errno. */
int wake_sleep(struct wake *wake, uint32_t count, int64_t until, int64_t instant);

/*
 * The worker's other sleep: nothing to wait for but a change. What it slept for last was cancelled;
 * it sleeps until then all the same, so that jobs after that need not wake it.
 */
void wake_wait(struct wake *wake, uint32_t count);

/*
 * A submitter's: there is something to do at @instant (CLOCK_MONOTONIC; INT64_MIN: now). A worker
 * that polls looks again. One that sleeps is woken if it sleeps for a later instant; else it
 * looks when it wakes up, which is soon enough, and a timeout that is submitted and cancelled
 * time and again costs no system call.
 */
void wake_notify(struct wake *wake, int64_t instant);

#endif
