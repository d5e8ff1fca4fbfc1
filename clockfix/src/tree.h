/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * tree.h - find a job's place
 *
 * A B+ tree of jobs by instant and order of submission. There are two. The submitters' one holds
 * the jobs of the list, so that they find a job's place in it; the worker never looks at it. The
 * worker's own one holds the jobs that it keeps itself: periodic jobs, and those that jobs
 * submitted. A search among a million jobs is a matter of cache misses, and a node, the keys of
 * which lie side by side, costs about one, as its lines are fetched at once.
 */
#ifndef CLOCKFIX_TREE_H
#define CLOCKFIX_TREE_H

#include <stdbool.h>
#include <stdint.h>

#define TREE_FANOUT	24
#define TREE_HEIGHT	16	/* reached after 12^15 additions at the earliest */
#define TREE_CHUNKS	2048u
#define TREE_CHUNK	(2u << 20)
#define TREE_NONE	UINT32_MAX

struct tree_key {
	int64_t instant;
	uint64_t seq;
};

struct tree_node;

/* The nodes of a tree; they stay until it ends. */
struct tree_nodes {
	struct tree_node *chunk[TREE_CHUNKS];
	uint32_t chunks, used;
	uint32_t free_first, free;
	bool lock_memory;
	_Atomic int lock_error;	/* of the last mlock() */
};

struct tree {
	struct tree_nodes *nodes;
	uint32_t root;		/* TREE_NONE: empty */
	uint32_t height;	/* levels */
};

void tree_nodes_init(struct tree_nodes *nodes);
void tree_nodes_destroy(struct tree_nodes *nodes);

void tree_init(struct tree *tree, struct tree_nodes *nodes);

static inline bool tree_empty(const struct tree *tree)
{
	return !tree->height;
}

/* See to it that there is memory for an addition; -ENOMEM. */
int tree_reserve(struct tree *tree);

/*
 * See to it that a tree that never holds more than @count slots always finds memory; -ENOMEM.
 * Another thread may use the tree meanwhile, if it learns of further slots after this.
 */
int tree_nodes_reserve(struct tree_nodes *nodes, uint32_t count);

/*
 * Add @slot, after tree_reserve(); the key is in the tree once at most. Returns the slot before
 * it, TREE_NONE if it is the first.
 */
uint32_t tree_add(struct tree *tree, struct tree_key key, uint32_t slot);

/* Remove what is there; returns the slot before it, TREE_NONE if it was the first. */
uint32_t tree_remove(struct tree *tree, struct tree_key key);

/* the first slot of a tree that is not empty */
uint32_t tree_first(const struct tree *tree);

#endif
