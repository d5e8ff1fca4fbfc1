// SPDX-License-Identifier: LGPL-2.1-or-later
/* submit.c - submit and cancel jobs: the side of the submitters [III.d-e] */
#include <platform.h>

#include "options.h"
#include "state.h"

#define CLEAN_PER_SUBMISSION 4	/* slots: more than one, so that garbage becomes less */

/* What jobs that are over are to release, once the mutex is not held any more. */
struct released {
	unsigned int count;
	struct {
		clockfix_release release;
		void *arg;
	} job[CLEAN_PER_SUBMISSION + 1];
};

static void note(struct released *released, struct slot *slot)
{
	clockfix_release release = atomic_load_explicit(&slot->release, memory_order_relaxed);

	if (!release)
		return;
	atomic_store_explicit(&slot->release, NULL, memory_order_relaxed);
	released->job[released->count].release = release;
	released->job[released->count++].arg =
		atomic_load_explicit(&slot->arg, memory_order_relaxed);
}

/* @earliest: the worker has to know of what is to be done at @instant now. */
static void leave(struct clockfix *timer, struct released *released, bool earliest,
		  int64_t instant)
{
	pthread_mutex_unlock(&timer->mutex);
	if (earliest)
		wake_notify(&timer->wake, instant);
	for (unsigned int i = 0; i < released->count; i++)
		released->job[i].release(released->job[i].arg);
	released->count = 0;
}

/* ---- cleaning up ------------------------------------------------------------------------ */

/*
 * A slot is free once it is out of the list and the worker is done with it. The worker keeps
 * periodic jobs that have run, and those that a job cancelled, until it hands them over.
 */
static void unlinked(struct clockfix *timer, uint32_t i, struct released *released)
{
	struct slot *slot = slot_at(&timer->slots, i);
	bool kept = state_phase(atomic_load(&slot->state)) == PHASE_DROPPED ||
		    (is_periodic(slot) && atomic_load(&slot->passed));

	if (kept)
		return;
	note(released, slot);
	slot_put(&timer->slots, i);
}

/* The last of the queue is released, but remains there. */
static bool clean_handed(struct clockfix *timer, struct released *released)
{
	uint32_t i = timer->handed_first, next;
	struct slot *slot = slot_at(&timer->slots, i);

	next = atomic_load_explicit(&slot->handed, memory_order_acquire);
	if (next == SLOT_NONE)
		return false;
	timer->handed_first = next;
	note(released, slot_at(&timer->slots, next));
	if (slot->linked)
		list_remove(&timer->list, i);
	slot_put(&timer->slots, i);
	return true;
}

/* At most CLEAN_PER_SUBMISSION; returns how many. */
static unsigned int clean(struct clockfix *timer, struct released *released)
{
	unsigned int done = 0;

	while (done < CLEAN_PER_SUBMISSION) {
		uint32_t i = list_clean(&timer->list);

		if (i == SLOT_NONE)
			break;
		unlinked(timer, i, released);
		done++;
	}
	while (done < CLEAN_PER_SUBMISSION && clean_handed(timer, released))
		done++;
	return done;
}

void timer_clean(struct clockfix *timer)
{
	struct released released = { 0 };
	bool more;

	do {
		pthread_mutex_lock(&timer->mutex);
		more = clean(timer, &released) == CLEAN_PER_SUBMISSION;
		leave(timer, &released, false, 0);
	} while (more);
}

/* ---- submitting ------------------------------------------------------------------------- */

/* Returns whether it is the earliest now. Its end must not be counted before it is itself. */
static bool insert(struct clockfix *timer, uint32_t i, const struct clockfix_spec *spec,
		   clockfix_job *job)
{
	struct slot *slot = slot_at(&timer->slots, i);
	uint64_t state;

	slot_fill(timer, slot, spec);
	state = state_of(state_generation(atomic_load_explicit(&slot->state,
							       memory_order_relaxed)),
			 PHASE_PENDING);
	if (job)
		*job = slot_job(i, state);
	atomic_store(&slot->state, state);
	return list_add(&timer->list, i);
}

static int submit_locked(struct clockfix *timer, const struct clockfix_spec *spec,
			 clockfix_job *job, bool *earliest, struct released *released)
{
	uint32_t i;

	if (timer_pending(timer) >= timer->options.max_jobs)
		return -ENOMEM;
	clean(timer, released);
	i = slot_get(&timer->slots);
	if (i == SLOT_NONE)
		return -ENOMEM;
	atomic_store(&timer->added, timer->added + 1);
	*earliest = insert(timer, i, spec, job);
	return 0;
}

int clockfix_schedule(struct clockfix *timer, const struct clockfix_spec *given,
		      clockfix_job *job)
{
	struct clockfix_spec spec;
	struct released released = { 0 };
	bool earliest = false;
	int ret = timer_check(timer);

	if (!ret)
		ret = spec_get(&spec, given);
	if (ret)
		return ret;
	/* or a job, or a release, that arms itself would keep a timer that ends alive */
	if (atomic_load_explicit(&timer->dead, memory_order_relaxed))
		return -ECANCELED;
	if (worker_is_self(timer))
		return worker_submit(timer, &spec, job);

	pthread_mutex_lock(&timer->mutex);
	ret = submit_locked(timer, &spec, job, &earliest, &released);
	leave(timer, &released, earliest, spec.start);
	return ret;
}

int clockfix_submit(struct clockfix *timer, int64_t instant, clockfix_fn fn, void *arg,
		    clockfix_job *job)
{
	struct clockfix_spec spec;

	clockfix_spec_init(&spec);
	spec.start = instant;
	spec.fn = fn;
	spec.arg = arg;
	return clockfix_schedule(timer, &spec, job);
}

/* ---- cancelling ------------------------------------------------------------------------- */

/* For the worker: a cancelled job is in its tree. No need to wake it for that. */
static void litter(struct clockfix *timer, uint32_t i)
{
	uint32_t first = atomic_load(&timer->litter);

	do {
		slot_at(&timer->slots, i)->below = first;
	} while (!atomic_compare_exchange_weak(&timer->litter, &first, i));
}

/* A job that was pending and is CANCELLED now. */
static void take_out(struct clockfix *timer, struct slot *slot, uint32_t i,
		     struct released *released)
{
	note(released, slot);
	atomic_store(&timer->cancelled, timer->cancelled + 1);
	if (atomic_load(&slot->passed)) {
		litter(timer, i);
	} else {
		/* No wake-up: a worker that polls for this job stops, one that sleeps sleeps on. */
		if (list_remove(&timer->list, i))
			atomic_fetch_add(&timer->wake.count, 1);
		slot_put(&timer->slots, i);
	}
	timer_note_ended(timer);
}

static int cancel_locked(struct clockfix *timer, clockfix_job job, struct released *released)
{
	int ret = slot_cancel(&timer->slots, job, PHASE_CANCELLED);

	if (!ret)
		take_out(timer, slot_of_job(&timer->slots, job), (uint32_t)job, released);
	return ret;
}

int clockfix_cancel(struct clockfix *timer, clockfix_job job)
{
	struct released released = { 0 };
	int ret = timer_check(timer);

	if (ret)
		return ret;
	if (worker_is_self(timer)) {
		ret = worker_cancel(timer, job);
	} else {
		pthread_mutex_lock(&timer->mutex);
		ret = cancel_locked(timer, job, &released);
		leave(timer, &released, false, 0);
	}
	if (!ret)
		__atomic_fetch_add(&timer->stats.cancelled, 1, __ATOMIC_RELAXED);
	return ret;
}

static bool is_running(struct clockfix *timer, clockfix_job job)
{
	uint64_t state = atomic_load(&slot_of_job(&timer->slots, job)->state);
	enum phase phase = state_phase(state);

	return state_generation(state) == job >> 32 &&
	       (phase == PHASE_RUNNING || phase == PHASE_CANCELLING);
}

int clockfix_cancel_wait(struct clockfix *timer, clockfix_job job)
{
	static const _Atomic uint32_t never;
	int ret = timer_check(timer);

	if (ret)
		return ret;
	if (worker_is_self(timer))
		return -EDEADLK;
	ret = clockfix_cancel(timer, job);
	if (ret != -EINPROGRESS)
		return ret;
	/* the worker wakes nobody: it has better things to do */
	while (is_running(timer, job))
		pf_futex_wait(&never, 0, pf_mono() + 50000);
	timer_clean(timer);
	return 1;
}
