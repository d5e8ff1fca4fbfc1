// SPDX-License-Identifier: LGPL-2.1-or-later
/* slots.c - where jobs are kept */
#include <sys/mman.h>

#include <platform.h>

#include "slots.h"

void slots_init(struct slots *slots, uint32_t limit, bool lock_memory)
{
	slots->limit = limit;
	slots->lock_memory = lock_memory;
	slots->free_first = SLOT_NONE;
	slots->free_last = SLOT_NONE;
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

static uint32_t take_free(struct slots *slots)
{
	uint32_t i = slots->free_first;

	slots->free_first = slot_at(slots, i)->free_next;
	if (slots->free_first == SLOT_NONE)
		slots->free_last = SLOT_NONE;
	return i;
}

uint32_t slot_get(struct slots *slots)
{
	struct slot *slot;
	uint32_t i, generation;

	if (slots->free_first != SLOT_NONE) {
		i = take_free(slots);
	} else {
		if (slots->used == slots->limit)
			return SLOT_NONE;
		if (slots->used == slots->chunks * CHUNK_SLOTS && !grow(slots))
			return SLOT_NONE;
		i = slots->used++;
	}
	slot = slot_at(slots, i);
	generation = state_generation(atomic_load_explicit(&slot->state, memory_order_relaxed));
	/* 0 is skipped: a handle is never 0 */
	if (!++generation)
		generation = 1;
	atomic_store(&slot->state, state_of(generation, PHASE_FREE));
	slot->linked = false;
	return i;
}

void slot_put(struct slots *slots, uint32_t i)
{
	struct slot *slot = slot_at(slots, i);

	slot->free_next = SLOT_NONE;
	if (slots->free_last == SLOT_NONE)
		slots->free_first = i;
	else
		slot_at(slots, slots->free_last)->free_next = i;
	slots->free_last = i;
}

struct slot *slot_of_job(struct slots *slots, clockfix_job job)
{
	uint32_t i = job;

	if (!(job >> 32) || i / CHUNK_SLOTS >= CHUNKS ||
	    !atomic_load_explicit(&slots->chunk[i / CHUNK_SLOTS], memory_order_acquire))
		return NULL;
	return slot_at(slots, i);
}

int slot_cancel(struct slots *slots, clockfix_job job, enum phase cancelled, enum phase running)
{
	struct slot *slot = slot_of_job(slots, job);
	uint64_t state;

	if (!slot)
		return -ENOENT;
	state = atomic_load(&slot->state);
	for (;;) {
		uint32_t generation = state_generation(state);
		enum phase phase = state_phase(state);
		enum phase then = phase == PHASE_PENDING ? cancelled : running;

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
