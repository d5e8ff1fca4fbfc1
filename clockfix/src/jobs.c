// SPDX-License-Identifier: LGPL-2.1-or-later
/* jobs.c - what the worker and submitters both do with jobs: prepare, fill and count them */
#include <platform.h>

#include "state.h"

static _Thread_local const struct clockfix *self;

bool worker_is_self(const struct clockfix *timer)
{
	return self == timer;
}

void worker_set_self(const struct clockfix *timer)
{
	self = timer;
}

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

/* A number from 1 on, or 0. The worker takes no lock: jobs that jobs submit find what is known. */
static uint8_t module_number(struct clockfix *timer, uintptr_t fn)
{
	uint32_t count = atomic_load_explicit(&timer->modules, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++) {
		if (module_has(&timer->module[i], fn))
			return i + 1;
	}
	if (count == MODULES || worker_is_self(timer))
		return 0;
	timer->module[count] = module_of(fn);
	atomic_store_explicit(&timer->modules, count + 1, memory_order_release);
	return count + 1;
}

void slot_fill(struct clockfix *timer, struct slot *slot, const struct clockfix_spec *spec)
{
	uint8_t kind = spec->period ? KIND_PERIODIC : 0;

	atomic_store_explicit(&slot->listed.instant, spec->start, memory_order_release);
	atomic_store_explicit(&slot->fn, spec->fn, memory_order_release);
	atomic_store_explicit(&slot->arg, spec->arg, memory_order_release);
	atomic_store_explicit(&slot->release, spec->release, memory_order_release);
	atomic_store_explicit(&slot->module, module_number(timer, (uintptr_t)spec->fn),
			      memory_order_release);
	/* in another cache line */
	if (spec->period) {
		atomic_store_explicit(&slot->period, spec->period, memory_order_release);
		atomic_store_explicit(&slot->runs, spec->runs, memory_order_release);
		slot->missed = 0;
	}
	atomic_store_explicit(&slot->kind, kind, memory_order_release);
	atomic_store_explicit(&slot->seq,
			      atomic_fetch_add_explicit(&timer->seq, 1, memory_order_relaxed),
			      memory_order_release);
	atomic_store_explicit(&slot->passed, false, memory_order_release);
}

void slot_release(struct slot *slot)
{
	clockfix_release release = atomic_load_explicit(&slot->release, memory_order_relaxed);
	void *arg = atomic_load_explicit(&slot->arg, memory_order_relaxed);

	if (!release)
		return;
	atomic_store_explicit(&slot->release, NULL, memory_order_relaxed);
	release(arg);
}

void timer_jobs_init(struct clockfix *timer)
{
	uint32_t i, reserve = reserve_of(&timer->options);

	list_init(&timer->list, &timer->slots);
	timer->own = (struct tree){ &timer->slots, offsetof(struct slot, own), SLOT_NONE };
	i = slot_get(&timer->slots);
	atomic_store(&slot_at(&timer->slots, i)->handed, SLOT_NONE);
	timer->handed_first = i;
	timer->handed_last = i;
	atomic_store(&timer->litter, SLOT_NONE);
	timer->litter_left = SLOT_NONE;
	timer->reserve = SLOT_NONE;
	timer->worn = SLOT_NONE;
	while (reserve--)
		slot_push(&timer->slots, &timer->reserve, slot_get(&timer->slots));
}
