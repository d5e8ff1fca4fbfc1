// SPDX-License-Identifier: LGPL-2.1-or-later
/* tree.c - find a job's place */
#include "tree.h"

/* Is slot @a to be nearer to the root than @b? Different numbers have different hashes. */
static bool above(uint32_t a, uint32_t b)
{
	a *= 0x9e3779b1;
	b *= 0x9e3779b1;
	return (a ^ a >> 15) * 0x85ebca77 > (b ^ b >> 15) * 0x85ebca77;
}

uint32_t tree_add(struct tree *tree, uint32_t i)
{
	struct tree_node *node = tree_node(tree, i);
	uint32_t *link = &tree->root, *lower = &node->left, *upper = &node->right;
	uint32_t last = SLOT_NONE, at;

	while ((at = *link) != SLOT_NONE && above(at, i)) {
		if (tree_before(tree, at, i)) {
			last = at;
			link = &tree_node(tree, at)->right;
		} else {
			link = &tree_node(tree, at)->left;
		}
	}
	*link = i;
	/* split what was there into what is before the slot and what is after it */
	while (at != SLOT_NONE) {
		if (tree_before(tree, at, i)) {
			last = at;
			*lower = at;
			lower = &tree_node(tree, at)->right;
			at = *lower;
		} else {
			*upper = at;
			upper = &tree_node(tree, at)->left;
			at = *upper;
		}
	}
	*lower = SLOT_NONE;
	*upper = SLOT_NONE;
	return last;
}

uint32_t tree_remove(struct tree *tree, uint32_t i)
{
	uint32_t *link = &tree->root, last = SLOT_NONE, lower, upper;

	while (*link != i) {
		if (tree_before(tree, *link, i)) {
			last = *link;
			link = &tree_node(tree, *link)->right;
		} else {
			link = &tree_node(tree, *link)->left;
		}
	}
	lower = tree_node(tree, i)->left;
	upper = tree_node(tree, i)->right;
	for (uint32_t at = lower; at != SLOT_NONE; at = tree_node(tree, at)->right)
		last = at;
	/* join what it was above of */
	while (lower != SLOT_NONE && upper != SLOT_NONE) {
		if (above(lower, upper)) {
			*link = lower;
			link = &tree_node(tree, lower)->right;
			lower = *link;
		} else {
			*link = upper;
			link = &tree_node(tree, upper)->left;
			upper = *link;
		}
	}
	*link = lower != SLOT_NONE ? lower : upper;
	return last;
}

uint32_t tree_first(const struct tree *tree)
{
	uint32_t i = SLOT_NONE;

	for (uint32_t at = tree->root; at != SLOT_NONE; at = tree_node(tree, at)->left)
		i = at;
	return i;
}
