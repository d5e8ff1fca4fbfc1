/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* state.h - what a timer consists of, and what its parts offer to each other */
#ifndef CLOCKFIX_STATE_H
#define CLOCKFIX_STATE_H

#include <errno.h>
#include <pthread.h>

#include "list.h"
#include "module.h"
#include "wait.h"

#define MODULES	16	/* that are known; the jobs of others begin as they are */
#define RESERVE	256	/* jobs submitted by jobs */

struct clockfix {
	/* the worker and submitters */
	struct wake wake __attribute__((aligned(64)));
	_Atomic bool dead;		/* end once nothing is pending */
	_Atomic bool drop;		/* what is pending does not run */
	_Atomic uint32_t draining;	/* threads in clockfix_drain() */
	_Atomic uint32_t drained;	/* what they wait on */
	struct list list;
	struct slots slots;

	/* the worker's own */
	struct tree own __attribute__((aligned(64)));	/* jobs that it keeps itself */
	_Atomic uint64_t worker_added, worker_ended;
	uint32_t reserve;		/* stack of slots for jobs submitted by jobs */
	uint32_t worn;			/* those that are to be released before */
	uint32_t handed_last;		/* end of the queue of slots given back to submitters */
	uint32_t litter_left;		/* of what it took from @litter */
	bool detached;			/* a job has destroyed the timer: the worker frees it */
	struct waiter waiter;

	/* submitters', under @mutex; not in a cache line that the worker polls */
	pthread_mutex_t mutex __attribute__((aligned(64)));
	_Atomic uint64_t seq;		/* order of submission; jobs that submit count, too */
	_Atomic uint64_t added, cancelled;
	uint32_t handed_first;
	struct module module[MODULES];
	_Atomic uint32_t modules;
	_Atomic uint32_t litter;	/* cancelled jobs that the worker keeps */

	struct clockfix_stats stats;
	_Atomic bool *alive;		/* page that reads as zero in a child after fork() */
	pthread_t thread;
	_Atomic uint32_t ready;		/* the worker's thread is set up */
	int setup;			/* with this result */
	struct clockfix_options options;
};

/* -ECHILD in a child after fork(), -EINVAL without a timer */
static inline int timer_check(const struct clockfix *timer)
{
	if (!timer)
		return -EINVAL;
	return atomic_load_explicit(timer->alive, memory_order_relaxed) ? 0 : -ECHILD;
}

/* ---- timer.c: for tests, a timer without its worker's thread ----------------------------- */

int timer_new(struct clockfix **timer, const struct clockfix_options *options);
void timer_release(struct clockfix *timer);	/* jobs that are left */
void timer_free(struct clockfix *timer);

/* ---- jobs.c: what the worker and submitters both do with jobs ---------------------------- */

/* for jobs that jobs submit: slots that the worker takes without a lock */
static inline uint32_t reserve_of(const struct clockfix_options *options)
{
	return options->max_jobs < RESERVE ? options->max_jobs : RESERVE;
}

/* list, tree and the reserve; before there is a worker */
void timer_jobs_init(struct clockfix *timer);

/* Fill a slot; its phase stays FREE. */
void slot_fill(struct clockfix *timer, struct slot *slot, const struct clockfix_spec *spec);

/* A job is over: spec->release, unless that was called. Not with the mutex held. */
void slot_release(struct slot *slot);

/* Is the calling thread this timer's worker? */
bool worker_is_self(const struct clockfix *timer);
void worker_set_self(const struct clockfix *timer);

uint64_t timer_pending(struct clockfix *timer);

/* To be called after pending jobs have become less. */
void timer_note_ended(struct clockfix *timer);

/* ---- submit.c ---------------------------------------------------------------------------- */

/* Free all slots of jobs that are over. Not called by the worker. */
void timer_clean(struct clockfix *timer);

/* ---- worker.c: wait for the earliest job, run it [III.f] --------------------------------- */

/* One turn of the worker: wait for the earliest job and run it. False: it is to end. */
bool worker_turn(struct clockfix *timer);

/* Called by a job. */
int worker_submit(struct clockfix *timer, const struct clockfix_spec *spec, clockfix_job *job);
int worker_cancel(struct clockfix *timer, clockfix_job job);

#endif
