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
#include <platform.h>

#include "list.h"

static bool before(const struct slot *a, int64_t date, uint64_t seq)
{
	int64_t a_date = atomic_load_explicit(&a->date, memory_order_relaxed);

	return a_date < date ||
	       (a_date == date && atomic_load_explicit(&a->seq, memory_order_relaxed) < seq);
}

static bool slot_before(const struct slot *a, const struct slot *b)
{
	return before(a, atomic_load_explicit(&b->date, memory_order_relaxed),
		      atomic_load_explicit(&b->seq, memory_order_relaxed));
}

static uint32_t link_get(struct list *list, uint32_t i, unsigned int level)
{
	struct slot *slot;

	if (i == SLOT_NONE)
		return list->head[level];
	slot = slot_at(list->slots, i);
	if (level)
		return slot->tower[level - 1];
	return atomic_load_explicit(&slot->next, memory_order_relaxed);
}

static void link_set(struct list *list, uint32_t i, unsigned int level, uint32_t to)
{
	if (i == SLOT_NONE)
		list->head[level] = to;
	else if (level)
		slot_at(list->slots, i)->tower[level - 1] = to;
	else
		atomic_store(&slot_at(list->slots, i)->next, to);
}

/* For each level the last slot before @slot; SLOT_NONE stands for the head. */
static void find(struct list *list, const struct slot *slot, uint32_t *path)
{
	int64_t date = atomic_load_explicit(&slot->date, memory_order_relaxed);
	uint64_t seq = atomic_load_explicit(&slot->seq, memory_order_relaxed);
	uint32_t i = SLOT_NONE, known = SLOT_NONE, next;

	for (unsigned int level = list->height; level--;) {
		for (;;) {
			next = link_get(list, i, level);
			/* it is needed if this level goes no further: fetch both at once */
			if (level)
				__builtin_prefetch(slot_at(list->slots,
							   link_get(list, i, level - 1)));
			/* what stopped the level above stops this one, too */
			if (next == known)
				break;
			if (!before(slot_at(list->slots, next), date, seq))
				break;
			i = next;
		}
		known = next;
		path[level] = i;
	}
}

static unsigned int random_height(struct list *list)
{
	unsigned int height = 1;
	uint64_t bits;

	/* xorshift64 */
	list->random ^= list->random << 13;
	list->random ^= list->random >> 7;
	list->random ^= list->random << 17;
	for (bits = list->random; !(bits & 3) && height < SLOT_LEVELS; bits >>= 2)
		height++;
	return height;
}

int list_init(struct list *list, struct slots *slots)
{
	struct slot *slot;
	uint32_t i = slot_get(slots);

	if (i == SLOT_NONE)
		return -ENOMEM;
	slot = slot_at(slots, i);
	atomic_store(&slot->date, INT64_MAX);
	atomic_store(&slot->seq, UINT64_MAX);
	atomic_store(&slot->next, i);
	atomic_store(&slot->state, state_of(0, PHASE_PENDING));
	slot->height = SLOT_LEVELS;
	for (unsigned int level = 0; level < SLOT_LEVELS; level++)
		list->head[level] = i;
	for (unsigned int level = 1; level < SLOT_LEVELS; level++)
		slot->tower[level - 1] = i;
	list->height = 1;
	list->dummy = i;
	list->random = 0x9e3779b97f4a7c15ull;
	list->slots = slots;
	atomic_store(&list->work, (uint64_t)i);
	atomic_store(&list->hold, i);
	return 0;
}

bool list_add(struct list *list, uint32_t i)
{
	struct slot *slot = slot_at(list->slots, i);
	uint32_t path[SLOT_LEVELS], first;
	uint64_t work;

	slot->height = random_height(list);
	if (slot->height > list->height)
		list->height = slot->height;
	find(list, slot, path);

	for (unsigned int level = 1; level < slot->height; level++) {
		slot->tower[level - 1] = link_get(list, path[level], level);
		link_set(list, path[level], level, i);
	}
	atomic_store_explicit(&slot->next, link_get(list, path[0], 0), memory_order_relaxed);
	slot->linked = true;
	link_set(list, path[0], 0, i);

	work = atomic_load(&list->work);
	do {
		first = work_slot(work);
		if (!slot_before(slot, slot_at(list->slots, first)) &&
		    !(first == path[0] && slot_finished(slot_at(list->slots, first))))
			return false;
	} while (!atomic_compare_exchange_weak(&list->work, &work, work_moved(work, i)));
	return true;
}

bool list_remove(struct list *list, uint32_t i)
{
	struct slot *slot = slot_at(list->slots, i);
	uint32_t path[SLOT_LEVELS], next, first, to;
	uint64_t work;

	find(list, slot, path);
	for (unsigned int level = slot->height; --level;)
		link_set(list, path[level], level, slot->tower[level - 1]);
	next = atomic_load_explicit(&slot->next, memory_order_relaxed);
	link_set(list, path[0], 0, next);
	slot->linked = false;

	work = atomic_load(&list->work);
	do {
		first = work_slot(work);
		if (first == i)
			to = next;
		else if (first == path[0] && slot_finished(slot_at(list->slots, first)))
			to = first;
		else
			return false;
	} while (!atomic_compare_exchange_weak(&list->work, &work, work_moved(work, to)));
	return first == i;
}

uint32_t list_clean(struct list *list)
{
	uint32_t i = list->head[0];
	struct slot *slot;

	if (i == work_slot(atomic_load(&list->work)) || i == atomic_load(&list->hold))
		return SLOT_NONE;
	slot = slot_at(list->slots, i);
	for (unsigned int level = 1; level < slot->height; level++)
		list->head[level] = slot->tower[level - 1];
	list->head[0] = atomic_load_explicit(&slot->next, memory_order_relaxed);
	slot->linked = false;
	return i;
}
