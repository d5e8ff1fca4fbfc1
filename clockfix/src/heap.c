// SPDX-License-Identifier: LGPL-2.1-or-later
/* heap.c - jobs that the worker itself keeps */
#include "heap.h"

void heap_init(struct heap *heap, struct slots *slots)
{
	heap->top = SLOT_NONE;
	heap->count = 0;
	heap->slots = slots;
}

static unsigned int rank_of(struct slots *slots, uint32_t i)
{
	return i == SLOT_NONE ? 0 : slot_at(slots, i)->rank;
}

static bool earlier(const struct slot *a, const struct slot *b)
{
	if (a->due != b->due)
		return a->due < b->due;
	return atomic_load_explicit(&a->seq, memory_order_relaxed) <
	       atomic_load_explicit(&b->seq, memory_order_relaxed);
}

/* Restore "the left one's rank is not less" and the rank itself. */
static void settle(struct slots *slots, struct slot *slot)
{
	uint32_t left = slot->left;

	if (rank_of(slots, left) < rank_of(slots, slot->right)) {
		slot->left = slot->right;
		slot->right = left;
	}
	slot->rank = rank_of(slots, slot->right) + 1;
}

static uint32_t merge(struct slots *slots, uint32_t a, uint32_t b)
{
	/* a right spine has at most log2(n + 1) slots: 24 for 16 M */
	uint32_t spine[2 * 25], top;
	unsigned int depth = 0;

	while (a != SLOT_NONE && b != SLOT_NONE) {
		if (earlier(slot_at(slots, b), slot_at(slots, a))) {
			uint32_t swap = a;

			a = b;
			b = swap;
		}
		spine[depth++] = a;
		a = slot_at(slots, a)->right;
	}
	top = a == SLOT_NONE ? b : a;
	while (depth--) {
		struct slot *slot = slot_at(slots, spine[depth]);

		slot->right = top;
		slot_at(slots, top)->parent = spine[depth];
		settle(slots, slot);
		top = spine[depth];
	}
	return top;
}

static void plant(struct heap *heap, uint32_t root)
{
	heap->top = root;
	if (root != SLOT_NONE)
		slot_at(heap->slots, root)->parent = SLOT_NONE;
}

void heap_add(struct heap *heap, uint32_t i)
{
	struct slot *slot = slot_at(heap->slots, i);

	slot->left = SLOT_NONE;
	slot->right = SLOT_NONE;
	slot->rank = 1;
	plant(heap, merge(heap->slots, heap->top, i));
	heap->count++;
}

void heap_remove(struct heap *heap, uint32_t i)
{
	struct slot *slot = slot_at(heap->slots, i), *above;
	uint32_t rest = merge(heap->slots, slot->left, slot->right), parent = slot->parent;
	uint8_t rank;

	slot->rank = 0;
	heap->count--;
	if (parent == SLOT_NONE) {
		plant(heap, rest);
		return;
	}
	if (rest != SLOT_NONE)
		slot_at(heap->slots, rest)->parent = parent;
	above = slot_at(heap->slots, parent);
	if (above->left == i)
		above->left = rest;
	else
		above->right = rest;
	/* ranks above change at most log2(n) times, then the rest stays as it is */
	for (;;) {
		rank = above->rank;
		settle(heap->slots, above);
		if (above->rank == rank || above->parent == SLOT_NONE)
			return;
		above = slot_at(heap->slots, above->parent);
	}
}
