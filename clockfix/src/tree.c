// SPDX-License-Identifier: LGPL-2.1-or-later
/* tree.c - find a job's place */
#include "tree.h"

/* An AVL tree of 2^25 nodes, more than there can be slots, is at most 36 high. */
#define HEIGHT_MAX 40

/* The way down from the root: the links that were followed. */
struct way {
	uint32_t *link[HEIGHT_MAX];
	unsigned int depth;
};

static inline struct place *place_at(const struct tree *tree, uint32_t i)
{
	struct slot *slot = slot_at(tree->slots, i);

	return tree->kind == TREE_LIST ? &slot->in_list : &slot->own;
}

void tree_init(struct tree *tree, enum tree_kind kind, struct slots *slots)
{
	tree->slots = slots;
	tree->kind = kind;
	tree->root = SLOT_NONE;
	tree->first = SLOT_NONE;
}

static bool before(const struct place *a, int64_t instant, uint64_t seq)
{
	int64_t a_instant = atomic_load_explicit(&a->instant, memory_order_relaxed);

	return a_instant < instant ||
	       (a_instant == instant && atomic_load_explicit(&a->seq, memory_order_relaxed) < seq);
}

static int height_of(const struct tree *tree, uint32_t i)
{
	return i == SLOT_NONE ? 0 : place_at(tree, i)->height;
}

static void measure(const struct tree *tree, struct place *place)
{
	int left = height_of(tree, place->left), right = height_of(tree, place->right);

	place->height = (left > right ? left : right) + 1;
}

static void rotate_right(const struct tree *tree, uint32_t *link)
{
	struct place *old = place_at(tree, *link);
	uint32_t up = old->left;

	old->left = place_at(tree, up)->right;
	place_at(tree, up)->right = *link;
	measure(tree, old);
	measure(tree, place_at(tree, up));
	*link = up;
}

static void rotate_left(const struct tree *tree, uint32_t *link)
{
	struct place *old = place_at(tree, *link);
	uint32_t up = old->right;

	old->right = place_at(tree, up)->left;
	place_at(tree, up)->left = *link;
	measure(tree, old);
	measure(tree, place_at(tree, up));
	*link = up;
}

static void balance(const struct tree *tree, uint32_t *link)
{
	struct place *place = place_at(tree, *link), *child;
	int lean = height_of(tree, place->left) - height_of(tree, place->right);

	if (lean > 1) {
		child = place_at(tree, place->left);
		if (height_of(tree, child->left) < height_of(tree, child->right))
			rotate_left(tree, &place->left);
		rotate_right(tree, link);
	} else if (lean < -1) {
		child = place_at(tree, place->right);
		if (height_of(tree, child->right) < height_of(tree, child->left))
			rotate_right(tree, &place->right);
		rotate_left(tree, link);
	} else {
		measure(tree, place);
	}
}

/* Back up to the root, or to where the height has not changed. */
static void settle(const struct tree *tree, struct way *way)
{
	while (way->depth) {
		uint32_t *link = way->link[--way->depth];
		int height = height_of(tree, *link);

		if (*link == SLOT_NONE)
			continue;
		balance(tree, link);
		if (height_of(tree, *link) == height)
			return;
	}
}

uint32_t tree_add(struct tree *tree, uint32_t i)
{
	struct place *place = place_at(tree, i);
	int64_t instant = atomic_load_explicit(&place->instant, memory_order_relaxed);
	uint64_t seq = atomic_load_explicit(&place->seq, memory_order_relaxed);
	uint32_t *link = &tree->root, last = SLOT_NONE;
	struct way way = { .depth = 0 };

	while (*link != SLOT_NONE) {
		struct place *at = place_at(tree, *link);

		way.link[way.depth++] = link;
		if (before(at, instant, seq)) {
			last = *link;
			link = &at->right;
		} else {
			link = &at->left;
		}
	}
	*link = i;
	place->left = SLOT_NONE;
	place->right = SLOT_NONE;
	place->height = 1;
	settle(tree, &way);
	if (last == SLOT_NONE)
		tree->first = i;
	return last;
}

/* Follow one side of a tree to its end. */
static uint32_t end_of(const struct tree *tree, uint32_t i, bool right)
{
	uint32_t end = SLOT_NONE;

	while (i != SLOT_NONE) {
		end = i;
		i = right ? place_at(tree, i)->right : place_at(tree, i)->left;
	}
	return end;
}

/* Take out what @link leads to; of its two subtrees the next one moves up into its place. */
static void unlink_place(const struct tree *tree, uint32_t *link, struct way *way)
{
	struct place *gone = place_at(tree, *link);
	uint32_t *below = &gone->right, next;
	unsigned int top = way->depth;

	if (gone->left == SLOT_NONE || gone->right == SLOT_NONE) {
		*link = gone->left == SLOT_NONE ? gone->right : gone->left;
		return;
	}
	way->link[way->depth++] = link;
	while (place_at(tree, *below)->left != SLOT_NONE) {
		way->link[way->depth++] = below;
		below = &place_at(tree, *below)->left;
	}
	next = *below;
	*below = place_at(tree, next)->right;
	place_at(tree, next)->left = gone->left;
	place_at(tree, next)->right = gone->right;
	place_at(tree, next)->height = gone->height;
	*link = next;
	/* the first step down was a link in what is gone */
	if (way->depth > top + 1)
		way->link[top + 1] = &place_at(tree, next)->right;
}

uint32_t tree_remove(struct tree *tree, uint32_t i)
{
	struct place *place = place_at(tree, i);
	int64_t instant = atomic_load_explicit(&place->instant, memory_order_relaxed);
	uint64_t seq = atomic_load_explicit(&place->seq, memory_order_relaxed);
	uint32_t *link = &tree->root, last = SLOT_NONE;
	struct way way = { .depth = 0 };

	while (*link != i) {
		struct place *at = place_at(tree, *link);

		way.link[way.depth++] = link;
		if (before(at, instant, seq)) {
			last = *link;
			link = &at->right;
		} else {
			link = &at->left;
		}
	}
	if (place->left != SLOT_NONE)
		last = end_of(tree, place->left, true);
	unlink_place(tree, link, &way);
	settle(tree, &way);
	place->height = 0;
	if (tree->first == i)
		tree->first = end_of(tree, tree->root, false);
	return last;
}
