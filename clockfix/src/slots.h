/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * slots.h - where jobs are kept
 *
 * A job lies in a slot. Slots are one array, which stays until the timer ends, so that a slot may be
 * read at any time; its generation tells whether it still is the same job. Memory is used as far as
 * slots are. Jobs are linked by the 32-bit number of the slot.
 *
 * Submitters allocate and release slots, in turns (the timer's mutex). The worker never does.
 */
#ifndef CLOCKFIX_SLOTS_H
#define CLOCKFIX_SLOTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clockfix.h"

#define SLOT_NONE	UINT32_MAX

/* phase of a job, in the lower half of slot.state; the upper half is the generation */
enum phase {
	PHASE_FREE,
	PHASE_PENDING,
	PHASE_RUNNING,
	PHASE_CANCELLING,	/* running, and not to run again */
	PHASE_DONE,
	PHASE_CANCELLED,
	PHASE_DROPPED,		/* cancelled by a job: the worker gives the slot back */
};

/* of a tree of slots (tree.h) */
struct tree_node {
	_Atomic int64_t instant;	/* by which it is sorted */
	uint32_t left, right;
};

/*
 * Atomic fields but @state are read by the worker while a submitter may already fill the slot
 * anew: they are stored with release and loaded with acquire, so that whoever sees a new value
 * also sees the new generation in @state.
 *
 * All that the worker needs of a job for once is in the first cache line.
 */
struct slot {
	_Atomic uint64_t state;		/* generation << 32 | phase */
	struct tree_node listed;	/* by first instant, as the list is */
	_Atomic uint64_t seq;		/* order of submission */
	_Atomic uint32_t next;		/* successor in the list */
	bool linked;			/* submitters': it is in the list */
	_Atomic uint8_t kind;		/* KIND_... */
	_Atomic uint8_t module;		/* of @fn; 0: not known */
	_Atomic bool passed;		/* the worker is through with it in the list */
	_Atomic(clockfix_fn) fn;
	_Atomic(void *) arg;
	_Atomic(clockfix_release) release;	/* or NULL */

	_Atomic int64_t period __attribute__((aligned(64)));
	_Atomic uint64_t runs;
	uint64_t index;			/* the worker's: of its next instant */
	int64_t due;			/* the worker's: that instant */
	struct tree_node own;		/* the worker's, by the instant that was due then */
	uint32_t below;			/* next on the stack that it is on: free, reserve, litter */
	union {
		uint32_t missed;	/* the worker's: instants since its last run */
		_Atomic uint32_t handed;/* next in the queue to submitters */
	};
	bool kept;			/* the worker's: it is in its tree */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct slot) == 128 && offsetof(struct slot, period) == 64,
	       "a slot is two cache lines");

#define KIND_PERIODIC	0x10
#define KIND_RESERVED	0x20	/* belongs to the worker's reserve */

struct slots {
	struct slot *slot;
	uint32_t limit;		/* slots of the array, */
	uint32_t used;		/* of which so many have ever been a job's */
	uint32_t free;		/* top of a stack */
};

static inline struct slot *slot_at(struct slots *slots, uint32_t i)
{
	return &slots->slot[i];
}

static inline bool is_periodic(const struct slot *slot)
{
	return atomic_load_explicit(&slot->kind, memory_order_acquire) & KIND_PERIODIC;
}

static inline uint64_t state_of(uint32_t generation, enum phase phase)
{
	return (uint64_t)generation << 32 | phase;
}

static inline uint32_t state_generation(uint64_t state)
{
	return state >> 32;
}

static inline enum phase state_phase(uint64_t state)
{
	return (enum phase)(uint32_t)state;
}

static inline bool phase_cancelled(enum phase phase)
{
	return phase == PHASE_CANCELLED || phase == PHASE_DROPPED;
}

/* Will the worker not run it (again) from the list? What the paper calls done. */
static inline bool slot_finished(const struct slot *slot)
{
	return atomic_load(&slot->passed) ||
	       phase_cancelled(state_phase(atomic_load(&slot->state)));
}

/* Stacks of slots, by their top; SLOT_NONE: empty. */
static inline void slot_push(struct slots *slots, uint32_t *top, uint32_t i)
{
	slot_at(slots, i)->below = *top;
	*top = i;
}

static inline uint32_t slot_pop(struct slots *slots, uint32_t *top)
{
	uint32_t i = *top;

	if (i != SLOT_NONE)
		*top = slot_at(slots, i)->below;
	return i;
}

int slots_init(struct slots *slots, uint32_t limit);	/* -ENOMEM */
void slots_destroy(struct slots *slots);

/* Make it another job's: count its generation up and return it; phase FREE. */
uint32_t slot_renew(struct slot *slot);

/* a free slot, renewed; SLOT_NONE if there is no more */
uint32_t slot_get(struct slots *slots);

static inline void slot_put(struct slots *slots, uint32_t i)
{
	slot_push(slots, &slots->free, i);
}

/* the slot that a handle stands for, or NULL */
struct slot *slot_of_job(struct slots *slots, clockfix_job job);

/*
 * Cancel a job. 0: it was pending and is in phase @cancelled now (CANCELLED or DROPPED); the
 * caller has to take it out. -EINPROGRESS: it is running, and CANCELLING now: for the last time.
 * -ENOENT: it is over.
 */
int slot_cancel(struct slots *slots, clockfix_job job, enum phase cancelled);

static inline clockfix_job slot_job(uint32_t i, uint64_t state)
{
	return (uint64_t)state_generation(state) << 32 | i;
}

#endif
