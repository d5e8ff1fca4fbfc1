// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * list.c - the sorted job list: submitters' side
 *
 * Where a submitter and the worker meet, in list_add() and list_remove(), each first stores and
 * then loads, in sequentially consistent order:
 *
 *	submitter	predecessor's next := ...;	is the predecessor finished?
 *	worker		job finished := true;		next := job's next
 *
 * So at least one sees what the other did. If the submitter sees that the predecessor is not
 * finished, the worker will read the new link. If it is finished and @work still points to it,
 * the worker may have read the old link, and the submitter changes @work, so that the worker's
 * compare-and-swap fails.
 */
#include "list.h"

/* the link from slot @i, SLOT_NONE: from the head */
static uint32_t link_get(struct list *list, uint32_t i)
{
	if (i == SLOT_NONE)
		return list->head;
	return atomic_load_explicit(&slot_at(list->slots, i)->next, memory_order_relaxed);
}

static void link_set(struct list *list, uint32_t i, uint32_t to)
{
	if (i == SLOT_NONE)
		list->head = to;
	else
		atomic_store(&slot_at(list->slots, i)->next, to);
}

void list_init(struct list *list, struct slots *slots)
{
	uint32_t i = slot_get(slots);
	struct slot *slot = slot_at(slots, i);

	atomic_store(&slot->listed.instant, INT64_MAX);
	atomic_store(&slot->seq, UINT64_MAX);
	atomic_store(&slot->next, i);
	atomic_store(&slot->state, state_of(0, PHASE_PENDING));
	list->head = i;
	list->dummy = i;
	list->slots = slots;
	list->tree = (struct tree){ slots, offsetof(struct slot, listed), SLOT_NONE };
	atomic_store(&list->work, (uint64_t)i);
}

bool list_add(struct list *list, uint32_t i)
{
	struct slot *slot = slot_at(list->slots, i);
	uint32_t last = tree_add(&list->tree, i), first;
	uint64_t work;

	atomic_store_explicit(&slot->next, link_get(list, last), memory_order_relaxed);
	slot->linked = true;
	link_set(list, last, i);

	work = atomic_load(&list->work);
	do {
		first = work_slot(work);
		if (!tree_before(&list->tree, i, first) &&
		    !(first == last && slot_finished(slot_at(list->slots, first))))
			return false;
	} while (!atomic_compare_exchange_weak(&list->work, &work, work_moved(work, i)));
	return true;
}

bool list_remove(struct list *list, uint32_t i)
{
	struct slot *slot = slot_at(list->slots, i);
	uint32_t last = tree_remove(&list->tree, i), next, first, to;
	uint64_t work;

	next = atomic_load_explicit(&slot->next, memory_order_relaxed);
	link_set(list, last, next);
	slot->linked = false;

	work = atomic_load(&list->work);
	do {
		first = work_slot(work);
		if (first == i)
			to = next;
		else if (first == last && slot_finished(slot_at(list->slots, first)))
			to = first;
		else
			return false;
	} while (!atomic_compare_exchange_weak(&list->work, &work, work_moved(work, to)));
	return first == i;
}

uint32_t list_clean(struct list *list)
{
	uint32_t i = list->head;
	struct slot *slot;

	if (i == work_slot(atomic_load(&list->work)))
		return SLOT_NONE;
	slot = slot_at(list->slots, i);
	tree_remove(&list->tree, i);
	list->head = atomic_load_explicit(&slot->next, memory_order_relaxed);
	slot->linked = false;
	return i;
}
