/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * list.h - the sorted job list [III.b-e]
 *
 * Invariants: the worker can read the list at any time; it is sorted by instant (and order of
 * submission); it is never empty, as a dummy job at infinity ends it.
 *
 *	head   first job that has not been cleaned up; submitters' own
 *	work   next job to run; the worker moves it on, a submitter moves it back
 *
 * All writing of links is done by submitters, one at a time (they hold the timer's mutex). The
 * worker reads the link of the job it has finished and moves @work by compare-and-swap.
 *
 * @work counts its changes. So a compare-and-swap by the worker fails if anything about its
 * position has changed since it read @work, even if it points to the same job (again), and a
 * worker that finds @work unchanged knows that the job it points to was not cleaned up, nor
 * taken out by a cancel, since it read it. The paper's third pointer, which protects the job that
 * the worker is occupied with, is not needed: slots are never unmapped, and the worker commits to
 * what it read by compare-and-swap only, of @work or of the slot's state with its generation.
 *
 * To find places in logarithmic time submitters keep the jobs of the list in a tree, too, which
 * the worker never looks at.
 */
#ifndef CLOCKFIX_LIST_H
#define CLOCKFIX_LIST_H

#include "tree.h"

struct list {
	/* shared by the worker and submitters */
	_Atomic uint64_t work __attribute__((aligned(64)));	/* count << 32 | slot */
	/* submitters' */
	uint32_t head __attribute__((aligned(64)));
	uint32_t dummy;
	struct tree tree;	/* all of the list but the dummy */
	struct slots *slots;
};

static inline uint32_t work_slot(uint64_t work)
{
	return work;
}

static inline uint64_t work_moved(uint64_t work, uint32_t slot)
{
	return ((work >> 32) + 1) << 32 | slot;
}

/* ---- the worker's side ------------------------------------------------------------------ */

static inline uint64_t list_work(struct list *list)
{
	return atomic_load(&list->work);
}

/*
 * Move on from a finished job. Has no effect if @list->work changed since the worker read @work:
 * then a submitter gave it a new position, which leads here again if there is more to do.
 */
static inline void list_out(struct list *list, uint64_t work)
{
	uint32_t next = atomic_load(&slot_at(list->slots, work_slot(work))->next);

	atomic_compare_exchange_strong(&list->work, &work, work_moved(work, next));
}

/* ---- submitters' side: with the mutex held ---------------------------------------------- */

void list_init(struct list *list, struct slots *slots);

/*
 * Add a filled slot: its instant and seq are set, its phase is PENDING. Returns whether the worker
 * has to be told, as @work was moved back to it.
 */
bool list_add(struct list *list, uint32_t i);

/* Take out a finished slot (slot_finished()); returns whether @work pointed to it. */
bool list_remove(struct list *list, uint32_t i);

/* Take a finished job off the head; SLOT_NONE if there is none. */
uint32_t list_clean(struct list *list);

#endif
