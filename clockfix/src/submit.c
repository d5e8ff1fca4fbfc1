// SPDX-License-Identifier: LGPL-2.1-or-later
/* submit.c - submit and cancel jobs: the side of the submitters [III.d-e] */
#include <limits.h>

#include <platform.h>

#include "timer.h"

#define CLEAN_PER_SUBMISSION 4	/* slots: more than one, so that garbage becomes less */

/* ---- cleaning up ------------------------------------------------------------------------ */

/* A slot is free once it is out of the list and, if it came to the heap, the worker is done. */
static void unlinked(struct clockfix *timer, uint32_t i)
{
	struct slot *slot = slot_at(&timer->slots, i);

	if (slot->retired || !atomic_load_explicit(&slot->period, memory_order_relaxed) ||
	    !atomic_load(&slot->passed))
		slot_put(&timer->slots, i);
}

static bool clean_handed(struct clockfix *timer)
{
	uint32_t i = timer->handed_first, next;
	struct slot *slot = slot_at(&timer->slots, i);

	next = atomic_load_explicit(&slot->handed, memory_order_acquire);
	if (next == SLOT_NONE)
		return false;
	timer->handed_first = next;
	slot->retired = true;
	if (!slot->linked)
		slot_put(&timer->slots, i);
	return true;
}

static void clean_limbo(struct clockfix *timer)
{
	for (enum base base = 0; base < BASES; base++) {
		uint32_t i = timer->limbo[base];

		if (i == SLOT_NONE || atomic_load(&timer->list[base].hold) == i)
			continue;
		timer->limbo[base] = SLOT_NONE;
		slot_put(&timer->slots, i);
	}
}

static void clean(struct clockfix *timer, uint32_t most)
{
	uint32_t done = 0;

	for (enum base base = 0; base < BASES; base++) {
		while (done < most) {
			uint32_t i = list_clean(&timer->list[base]);

			if (i == SLOT_NONE)
				break;
			unlinked(timer, i);
			done++;
		}
	}
	while (done < most && clean_handed(timer))
		done++;
	clean_limbo(timer);
}

/* ---- counting --------------------------------------------------------------------------- */

uint64_t timer_pending(struct clockfix *timer)
{
	/* what makes it less is read first: never less than there are */
	uint64_t ended = atomic_load(&timer->worker_ended) + atomic_load(&timer->cancelled);

	return atomic_load(&timer->added) + atomic_load(&timer->worker_added) - ended;
}

void timer_note_ended(struct clockfix *timer)
{
	if (!atomic_load(&timer->draining) || timer_pending(timer))
		return;
	atomic_fetch_add(&timer->drained, 1);
	pf_futex_wake(&timer->drained);
}

/* ---- submitting ------------------------------------------------------------------------- */

void slot_fill(struct clockfix *timer, struct slot *slot, const struct clockfix_spec *spec)
{
	uint8_t kind = spec->missed | (spec->clock == CLOCK_TAI ? KIND_TAI : 0);

	atomic_store_explicit(&slot->date, spec->start, memory_order_release);
	atomic_store_explicit(&slot->fn, spec->fn, memory_order_release);
	atomic_store_explicit(&slot->arg, spec->arg, memory_order_release);
	atomic_store_explicit(&slot->period, spec->period, memory_order_release);
	/* in another cache line */
	if (spec->period)
		atomic_store_explicit(&slot->runs, spec->runs, memory_order_release);
	atomic_store_explicit(&slot->kind, kind, memory_order_release);
	atomic_store_explicit(&slot->seq,
			      atomic_fetch_add_explicit(&timer->seq, 1, memory_order_relaxed),
			      memory_order_release);
	atomic_store_explicit(&slot->passed, false, memory_order_release);
	slot->missed = 0;
}

static int submit_locked(struct clockfix *timer, const struct clockfix_spec *spec,
			 clockfix_job *job, bool *earliest)
{
	enum base base = base_of(spec);
	struct slot *slot;
	uint64_t state;
	uint32_t i;

	if (base == BASE_TAI && timer->caps.tai_watch == CLOCKFIX_NOT_ASKED)
		timer->caps.tai_watch = tai_watch(&timer->tai, &timer->wake);

	if (timer_pending(timer) >= timer->options.max_jobs)
		return -ENOMEM;
	clean(timer, CLEAN_PER_SUBMISSION);
	if (list_reserve(&timer->list[base]))
		return -ENOMEM;
	i = slot_get(&timer->slots);
	if (i == SLOT_NONE) {
		clean(timer, UINT_MAX);
		i = slot_get(&timer->slots);
	}
	if (i == SLOT_NONE)
		return -ENOMEM;

	slot = slot_at(&timer->slots, i);
	slot_fill(timer, slot, spec);
	state = state_of(state_generation(atomic_load_explicit(&slot->state,
							       memory_order_relaxed)),
			 PHASE_PENDING);
	if (job)
		*job = slot_job(i, state);
	/* counted before the worker can count its end */
	atomic_store(&timer->added, timer->added + 1);
	atomic_store(&slot->state, state);
	*earliest = list_add(&timer->list[base], i);
	return 0;
}

int clockfix_schedule(struct clockfix *timer, const struct clockfix_spec *given,
		      clockfix_job *job)
{
	struct clockfix_spec spec;
	bool earliest = false;
	int ret = timer_check(timer);

	if (!ret)
		ret = spec_get(&spec, given);
	if (ret)
		return ret;
	if (worker_is_self(timer))
		return worker_submit(timer, &spec, job);

	pthread_mutex_lock(&timer->mutex);
	ret = submit_locked(timer, &spec, job, &earliest);
	pthread_mutex_unlock(&timer->mutex);
	if (earliest)
		wake_notify(&timer->wake, timer_mono(timer, base_of(&spec), spec.start));
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

/* A job that was pending and is CANCELLED now. */
static void take_out(struct clockfix *timer, struct slot *slot, uint32_t i)
{
	enum base base = atomic_load_explicit(&slot->kind, memory_order_relaxed) & KIND_TAI ?
			 BASE_TAI : BASE_MONO;
	struct list *list = &timer->list[base];

	atomic_store(&timer->cancelled, timer->cancelled + 1);
	/* in the heap: the worker drops it when its instant comes */
	if (!atomic_load(&slot->passed)) {
		clean_limbo(timer);
		/* No wake-up: a worker that polls for this job stops, one that sleeps sleeps on. */
		if (list_remove(list, i))
			atomic_fetch_add(&timer->wake.count, 1);
		if (atomic_load(&list->hold) == i && timer->limbo[base] == SLOT_NONE)
			timer->limbo[base] = i;
		else
			slot_put(&timer->slots, i);
	}
	timer_note_ended(timer);
}

static int cancel_locked(struct clockfix *timer, clockfix_job job)
{
	int ret = slot_cancel(&timer->slots, job);

	if (!ret)
		take_out(timer, slot_of_job(&timer->slots, job), (uint32_t)job);
	return ret;
}

int clockfix_cancel(struct clockfix *timer, clockfix_job job)
{
	int ret = timer_check(timer);

	if (ret)
		return ret;
	if (worker_is_self(timer)) {
		ret = worker_cancel(timer, job);
	} else {
		pthread_mutex_lock(&timer->mutex);
		ret = cancel_locked(timer, job);
		pthread_mutex_unlock(&timer->mutex);
	}
	if (!ret)
		atomic_fetch_add_explicit(&timer->stats.cancelled, 1, memory_order_relaxed);
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
		pf_sleep(pf_mono() + 50000);
	return 0;
}

/* ---- preparing -------------------------------------------------------------------------- */

int timer_jobs_init(struct clockfix *timer)
{
	uint32_t i;
	int ret;

	for (enum base base = 0; base < BASES; base++) {
		ret = list_init(&timer->list[base], &timer->slots, &timer->nodes);
		if (ret)
			return ret;
		heap_init(&timer->heap[base], &timer->slots);
		timer->limbo[base] = SLOT_NONE;
	}
	i = slot_get(&timer->slots);
	if (i == SLOT_NONE)
		return -ENOMEM;
	atomic_store(&slot_at(&timer->slots, i)->handed, SLOT_NONE);
	timer->handed_first = i;
	timer->handed_last = i;

	timer->reserve = SLOT_NONE;
	for (uint32_t n = 0; n < timer->options.job_reserve; n++) {
		i = slot_get(&timer->slots);
		if (i == SLOT_NONE)
			return -ENOMEM;
		slot_at(&timer->slots, i)->left = timer->reserve;
		timer->reserve = i;
	}
	return 0;
}
