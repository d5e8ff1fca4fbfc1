/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * tree.h - find a job's place
 *
 * A treap of slots: sorted from left to right by instant and order of submission, and from the root
 * down by a hash of the slot's number. So it is as deep as a tree that was built in random order.
 * It needs no memory but the slots.
 *
 * There are two. The submitters' one holds the jobs of the list, so that they find a job's place in
 * it; the worker never looks at it. The worker's own one holds the jobs that it keeps itself:
 * periodic jobs, and those that jobs submitted.
 */
#ifndef CLOCKFIX_TREE_H
#define CLOCKFIX_TREE_H

#include "slots.h"

struct tree {
	struct slots *slots;
	size_t node;		/* where in a slot it has its struct tree_node */
	uint32_t root;		/* SLOT_NONE: empty */
};

static inline struct tree_node *tree_node(const struct tree *tree, uint32_t i)
{
	return (struct tree_node *)((char *)slot_at(tree->slots, i) + tree->node);
}

/* Is slot @a before @b? Their nodes have instants; they need not be in the tree. */
static inline bool tree_before(const struct tree *tree, uint32_t a, uint32_t b)
{
	int64_t one, other;

	one = atomic_load_explicit(&tree_node(tree, a)->instant, memory_order_relaxed);
	other = atomic_load_explicit(&tree_node(tree, b)->instant, memory_order_relaxed);
	return one < other ||
	       (one == other &&
		atomic_load_explicit(&slot_at(tree->slots, a)->seq, memory_order_relaxed) <
		atomic_load_explicit(&slot_at(tree->slots, b)->seq, memory_order_relaxed));
}

/* Add a slot, or remove one; returns the slot before it, SLOT_NONE if it is the first. */
uint32_t tree_add(struct tree *tree, uint32_t i);
uint32_t tree_remove(struct tree *tree, uint32_t i);

/* SLOT_NONE if it is empty */
uint32_t tree_first(const struct tree *tree);

#endif
