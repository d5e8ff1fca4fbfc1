/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sound.h - whether all in a tree is as it should be */
#ifndef SIM_SOUND_H
#define SIM_SOUND_H

#include "tree.h"

/* Is the part below @i sorted, beginning after *@last? Counts its slots. */
static inline bool subtree_sound(const struct tree *tree, uint32_t i, uint32_t *last,
				 uint32_t *count)
{
	bool sound;

	if (i == SLOT_NONE)
		return true;
	sound = subtree_sound(tree, tree_node(tree, i)->left, last, count) &&
		(*last == SLOT_NONE || tree_before(tree, *last, i));
	*last = i;
	++*count;
	return sound && subtree_sound(tree, tree_node(tree, i)->right, last, count);
}

static inline bool tree_sound(const struct tree *tree, uint32_t count)
{
	uint32_t last = SLOT_NONE, found = 0;

	return subtree_sound(tree, tree->root, &last, &found) && found == count;
}

/* edges from the root to the furthest slot, and one */
static inline uint32_t tree_depth(const struct tree *tree, uint32_t i)
{
	uint32_t left, right;

	if (i == SLOT_NONE)
		return 0;
	left = tree_depth(tree, tree_node(tree, i)->left);
	right = tree_depth(tree, tree_node(tree, i)->right);
	return 1 + (left > right ? left : right);
}

#endif
