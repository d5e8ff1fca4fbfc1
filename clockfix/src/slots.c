// SPDX-License-Identifier: LGPL-2.1-or-later
/* slots.c - where jobs are kept */
#include <platform.h>

#include "slots.h"

int slots_init(struct slots *slots, uint32_t limit)
{
	slots->slot = pf_alloc(limit * sizeof(struct slot));
	slots->limit = limit;
	slots->free = SLOT_NONE;
	return slots->slot ? 0 : -ENOMEM;
}

void slots_destroy(struct slots *slots)
{
	if (slots->slot)
		pf_free(slots->slot, slots->limit * sizeof(struct slot));
}

uint32_t slot_renew(struct slot *slot)
{
	uint32_t generation =
		state_generation(atomic_load_explicit(&slot->state, memory_order_relaxed)) + 1;

	/* a handle is never 0 */
	if (!generation)
		generation = 1;
	atomic_store(&slot->state, state_of(generation, PHASE_FREE));
	return generation;
}

uint32_t slot_get(struct slots *slots)
{
	uint32_t i = slot_pop(slots, &slots->free);

	if (i == SLOT_NONE) {
		if (slots->used == slots->limit)
			return SLOT_NONE;
		i = slots->used++;
	}
	slot_renew(slot_at(slots, i));
	return i;
}

struct slot *slot_of_job(struct slots *slots, clockfix_job job)
{
	uint32_t i = job;

	return job >> 32 && i < slots->limit ? slot_at(slots, i) : NULL;
}

int slot_cancel(struct slots *slots, clockfix_job job, enum phase cancelled)
{
	struct slot *slot = slot_of_job(slots, job);
	uint64_t state;

	if (!slot)
		return -ENOENT;
	state = atomic_load(&slot->state);
	for (;;) {
		uint32_t generation = state_generation(state);
		enum phase phase = state_phase(state);
		enum phase then = phase == PHASE_PENDING ? cancelled : PHASE_CANCELLING;

		if (generation != job >> 32)
			return -ENOENT;
		if (phase == PHASE_CANCELLING)
			return -EINPROGRESS;
		if (phase != PHASE_PENDING && phase != PHASE_RUNNING)
			return -ENOENT;
		if (atomic_compare_exchange_strong(&slot->state, &state,
						   state_of(generation, then)))
			return phase == PHASE_PENDING ? 0 : -EINPROGRESS;
	}
}
