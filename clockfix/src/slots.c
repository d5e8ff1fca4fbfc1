// SPDX-License-Identifier: LGPL-2.1-or-later
/* slots.c - where jobs are kept */
#include <sys/mman.h>

#include <platform.h>

#include "slots.h"

void slots_init(struct slots *slots, uint32_t limit, bool lock_memory)
{
	slots->limit = limit;
	slots->lock_memory = lock_memory;
	slots->free = SLOT_NONE;
}

void slots_destroy(struct slots *slots)
{
	for (uint32_t i = 0; i < slots->chunks; i++)
		pf_free(slots->chunk[i], CHUNK_SLOTS * sizeof(struct slot));
}

static bool grow(struct slots *slots)
{
	size_t size = CHUNK_SLOTS * sizeof(struct slot);
	struct slot *mem;

	if (slots->chunks == CHUNKS)
		return false;
	/* a timer with few jobs does without */
	mem = pf_alloc(size, slots->chunks > 0);
	if (!mem)
		return false;
	if (slots->lock_memory && mlock(mem, size))
		slots->lock_error = -errno;
	atomic_store_explicit(&slots->chunk[slots->chunks++], mem, memory_order_release);
	return true;
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
		if (slots->used == slots->chunks * CHUNK_SLOTS && !grow(slots))
			return SLOT_NONE;
		i = slots->used++;
	}
	slot_renew(slot_at(slots, i));
	return i;
}

struct slot *slot_of_job(struct slots *slots, clockfix_job job)
{
	uint32_t i = job;

	if (!(job >> 32) || i / CHUNK_SLOTS >= CHUNKS ||
	    !atomic_load_explicit(&slots->chunk[i / CHUNK_SLOTS], memory_order_acquire))
		return NULL;
	return slot_at(slots, i);
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
