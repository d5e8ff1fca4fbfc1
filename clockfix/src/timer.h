/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* timer.h - inside of a timer */
#ifndef CLOCKFIX_TIMER_H
#define CLOCKFIX_TIMER_H

#include <pthread.h>

#include "heap.h"
#include "list.h"
#include "tai.h"
#include "wait.h"

/* One per clock. A step of CLOCK_TAI moves all of its instants, and their order among themselves
 * stays as it is.
 */
enum base { BASE_MONO, BASE_TAI, BASES };

#define RESERVE_MAX 65536

struct clockfix {
	/* the worker and submitters */
	struct wake wake __attribute__((aligned(64)));
	_Atomic bool dead;		/* end once nothing is pending */
	_Atomic bool drop;		/* what is pending does not run */
	_Atomic uint32_t draining;	/* threads in clockfix_drain() */
	_Atomic uint32_t drained;	/* what they wait on */
	struct list list[BASES];
	struct slots slots;
	struct tree_nodes nodes;	/* submitters' */

	/* the worker's own */
	struct heap heap[BASES] __attribute__((aligned(64)));
	_Atomic uint64_t worker_added, worker_ended;
	uint32_t reserve;		/* first of the slots for jobs submitted by jobs */
	uint32_t handed_last;		/* end of the queue of slots given back to submitters */
	uint32_t litter_left;		/* of what it took from @litter */
	clockfix_job running;
	struct waiter waiter;

	/* submitters', under @mutex; not in a cache line that the worker polls */
	pthread_mutex_t mutex __attribute__((aligned(64)));
	_Atomic uint64_t seq;		/* order of submission; jobs that submit count, too */
	_Atomic uint64_t added, cancelled;
	uint32_t handed_first;
	_Atomic uint32_t litter;	/* cancelled jobs of the heap, for the worker */

	struct tai tai;
	struct stats stats;
	_Atomic bool *alive;		/* page that reads as zero in a child after fork() */
	pthread_t thread;
	_Atomic uint32_t ready;		/* the worker's thread is set up */
	int setup;			/* with this result */
	struct clockfix_options options;
	struct clockfix_capabilities caps;
	int latency_fd;
	uintptr_t stack;		/* what of the worker's is locked, or 0 */
};

/* ---- timer.c ---------------------------------------------------------------------------- */

/* a timer without its worker */
int timer_new(struct clockfix **timer, const struct clockfix_options *options);
void timer_free(struct clockfix *timer);

/* ---- worker.c --------------------------------------------------------------------------- */

/* One turn of the worker: wait for the earliest job and run it. False: it is to end. */
bool worker_turn(struct clockfix *timer);

/* Is the calling thread this timer's worker? */
bool worker_is_self(const struct clockfix *timer);
void worker_set_self(const struct clockfix *timer);

/* Called by a job. */
int worker_submit(struct clockfix *timer, const struct clockfix_spec *spec, clockfix_job *job);
int worker_cancel(struct clockfix *timer, clockfix_job job);
int worker_reschedule(struct clockfix *timer, clockfix_job *job, int64_t instant);

/* ---- jobs.c ----------------------------------------------------------------------------- */

/* lists, heaps and the reserve; before there is a worker */
int timer_jobs_init(struct clockfix *timer);

/* Fill a slot; its phase stays FREE. */
void slot_fill(struct clockfix *timer, struct slot *slot, const struct clockfix_spec *spec);

/* What it was filled with, but for @instant. If the slot is another job's by now: something. */
void slot_spec(const struct slot *slot, int64_t instant, struct clockfix_spec *spec);

uint64_t timer_pending(struct clockfix *timer);

/* To be called after pending jobs have become less. */
void timer_note_ended(struct clockfix *timer);

static inline enum base base_of(const struct clockfix_spec *spec)
{
	return spec->clock == CLOCK_TAI ? BASE_TAI : BASE_MONO;
}

/* an instant of a list or heap by CLOCK_MONOTONIC */
static inline int64_t timer_mono(struct clockfix *timer, enum base base, int64_t date)
{
	return base == BASE_TAI ? tai_to_mono(&timer->tai, date) : date;
}

static inline int timer_check(const struct clockfix *timer)
{
	if (!timer)
		return -EINVAL;
	return atomic_load_explicit(timer->alive, memory_order_relaxed) ? 0 : -ECHILD;
}

/* ---- others ----------------------------------------------------------------------------- */

/* hygiene.c: what asks for privileges; to be called in the worker's thread */
int hygiene_apply(struct clockfix *timer);
void hygiene_leave(struct clockfix *timer);	/* in the worker's thread, too */
void hygiene_undo(struct clockfix *timer);

/* options.c: check, and convert from another version's size; -EINVAL, -E2BIG */
int options_get(struct clockfix_options *to, const struct clockfix_options *from);
int spec_get(struct clockfix_spec *to, const struct clockfix_spec *from);

/*
 * The other way: fill a program's structure, which begins with its size. What this library does
 * not know of becomes 0. -EINVAL: it is smaller than @least, or its size is absurd.
 */
int sized_return(void *to, const void *from, size_t size, size_t least);

#endif
