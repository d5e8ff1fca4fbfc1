/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * tree.h - find a job's place
 *
 * An AVL tree through the slots themselves, by instant and order of submission: nothing to
 * allocate, and no operation takes more than some log2(n) steps, whatever went before. There are
 * two trees. The submitters' one holds all jobs of the list, so that they find a job's place in
 * it; the worker never looks at it. The worker's own one holds the jobs that it keeps itself:
 * periodic jobs, and those that jobs submitted. A slot has a place in each, in a cache line of
 * its own, as a periodic job that has run is in both until a submitter cleans up.
 */
#ifndef CLOCKFIX_TREE_H
#define CLOCKFIX_TREE_H

#include "slots.h"

enum tree_kind { TREE_LIST, TREE_WORKER };

struct tree {
	struct slots *slots;
	enum tree_kind kind;
	uint32_t root;		/* SLOT_NONE: empty */
	uint32_t first;		/* the earliest, SLOT_NONE: none */
};

void tree_init(struct tree *tree, enum tree_kind kind, struct slots *slots);

/* Add slot @i; instant and seq of its place are set. Returns the slot before it, or SLOT_NONE. */
uint32_t tree_add(struct tree *tree, uint32_t i);

/* Remove slot @i, which is in the tree. Returns the slot before it, or SLOT_NONE. */
uint32_t tree_remove(struct tree *tree, uint32_t i);

#endif
