// SPDX-License-Identifier: LGPL-2.1-or-later
/* tree.c - the library's tree, and whether all in it is as it should be */
#include "../../src/tree.c"

struct walk {
	const struct tree *tree;
	struct tree_key last;	/* key seen last */
	uint32_t slots;
	bool sound;
};

static void walk(struct walk *w, uint32_t i, uint32_t level)
{
	const struct tree_node *node = node_at(w->tree->nodes, i);

	w->sound &= node->count > 0 && node->count <= TREE_FANOUT;
	for (uint32_t at = 0; at < node->count && w->sound; at++) {
		if (!level || at)
			w->sound &= !less(node, at, w->last);
		if (level) {
			if (at)
				w->last = key_at(node, at);
			walk(w, node->entry[at], level - 1);
			continue;
		}
		w->last = key_at(node, at);
		w->slots++;
	}
}

bool tree_sound(const struct tree *tree, uint32_t count)
{
	struct walk w = { .tree = tree, .last = { INT64_MIN, 0 }, .sound = true };

	if (!tree->height)
		return !count;
	/* a root with one child would be a level for nothing */
	if (tree->height > 1 && node_at(tree->nodes, tree->root)->count < 2)
		return false;
	walk(&w, tree->root, tree->height - 1);
	return w.sound && w.slots == count;
}
