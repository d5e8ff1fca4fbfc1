// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * tree.c - find a job's place
 *
 * In a leaf, entries are slots with their keys. In an inner node they are nodes, with a key that
 * is not above any in that node and above all in the one before; that of the first does not
 * count, as whatever is less than the second's belongs there.
 *
 * A node that is full is split. One that is empty is freed, and two neighbours that fit half a
 * node become one, which is looked for when one of them is a quarter full or less. So two
 * neighbours have eight entries at least.
 */
#include <string.h>
#include <sys/mman.h>

#include <platform.h>

#include "tree.h"

struct tree_node {
	int64_t instant[TREE_FANOUT];
	uint64_t seq[TREE_FANOUT];
	uint32_t entry[TREE_FANOUT];
	uint32_t count;
	uint32_t free_next;
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct tree_node) == 512, "a node is eight cache lines");

#define CHUNK_NODES (TREE_CHUNK / sizeof(struct tree_node))

/* the way from the root to a leaf */
struct path {
	struct tree_node *node[TREE_HEIGHT];
	uint32_t at[TREE_HEIGHT];
};

/* ---- nodes ------------------------------------------------------------------------------ */

static struct tree_node *node_at(const struct tree_nodes *nodes, uint32_t i)
{
	return &nodes->chunk[i / CHUNK_NODES][i % CHUNK_NODES];
}

void tree_nodes_init(struct tree_nodes *nodes)
{
	memset(nodes, 0, sizeof(*nodes));
	nodes->free_first = TREE_NONE;
}

void tree_nodes_destroy(struct tree_nodes *nodes)
{
	for (uint32_t i = 0; i < nodes->chunks; i++)
		pf_free(nodes->chunk[i], TREE_CHUNK);
}

static uint32_t node_get(struct tree_nodes *nodes)
{
	uint32_t i = nodes->free_first;

	if (i == TREE_NONE)
		return nodes->used++;
	nodes->free_first = node_at(nodes, i)->free_next;
	nodes->free--;
	return i;
}

static void node_put(struct tree_nodes *nodes, uint32_t i)
{
	node_at(nodes, i)->free_next = nodes->free_first;
	nodes->free_first = i;
	nodes->free++;
}

static bool less(const struct tree_node *node, uint32_t at, struct tree_key key)
{
	return node->instant[at] < key.instant ||
	       (node->instant[at] == key.instant && node->seq[at] < key.seq);
}

static struct tree_key key_at(const struct tree_node *node, uint32_t at)
{
	return (struct tree_key){ node->instant[at], node->seq[at] };
}

/* Move @count entries, keys and all. */
static void move(struct tree_node *to, uint32_t to_at, const struct tree_node *from,
		 uint32_t from_at, uint32_t count)
{
	memmove(&to->instant[to_at], &from->instant[from_at], count * sizeof(*to->instant));
	memmove(&to->seq[to_at], &from->seq[from_at], count * sizeof(*to->seq));
	memmove(&to->entry[to_at], &from->entry[from_at], count * sizeof(*to->entry));
}

static void set(struct tree_node *node, uint32_t at, struct tree_key key, uint32_t entry)
{
	node->instant[at] = key.instant;
	node->seq[at] = key.seq;
	node->entry[at] = entry;
}

/* ---- searching -------------------------------------------------------------------------- */

static void fetch(const struct tree_node *node)
{
	for (size_t at = 0; at < sizeof(*node); at += 64)
		__builtin_prefetch((const char *)node + at);
}

/* number of entries from @first on that are less than @key, plus @first */
static uint32_t place(const struct tree_node *node, uint32_t first, struct tree_key key)
{
	uint32_t len = node->count - first;

	while (len) {
		uint32_t half = len / 2;
		bool is_less = less(node, first + half, key);

		first = is_less ? first + half + 1 : first;
		len = is_less ? len - half - 1 : half;
	}
	return first;
}

/* the last child with a key that is not greater than @key */
static uint32_t child(const struct tree_node *node, struct tree_key key)
{
	uint32_t at = place(node, 1, key);

	if (at < node->count && node->instant[at] == key.instant && node->seq[at] == key.seq)
		return at;
	return at - 1;
}

/* @path->at: of inner nodes which child, of the leaf the place of @key */
static void find(const struct tree *tree, struct tree_key key, struct path *path)
{
	struct tree_node *node = node_at(tree->nodes, tree->root);

	for (uint32_t level = tree->height - 1; level; level--) {
		fetch(node);
		path->node[level] = node;
		path->at[level] = child(node, key);
		node = node_at(tree->nodes, node->entry[path->at[level]]);
	}
	fetch(node);
	path->node[0] = node;
	path->at[0] = place(node, 0, key);
}

/* the slot before the place that @path leads to */
static uint32_t before(const struct tree *tree, const struct path *path)
{
	const struct tree_node *node;
	uint32_t level = 0, i;

	while (level < tree->height && !path->at[level])
		level++;
	if (level == tree->height)
		return TREE_NONE;
	i = path->node[level]->entry[path->at[level] - 1];
	while (level--) {
		node = node_at(tree->nodes, i);
		i = node->entry[node->count - 1];
	}
	return i;
}

/* ---- adding ----------------------------------------------------------------------------- */

void tree_init(struct tree *tree, struct tree_nodes *nodes)
{
	tree->nodes = nodes;
	tree->root = TREE_NONE;
	tree->height = 0;
}

static int grow(struct tree_nodes *nodes)
{
	void *mem;

	if (nodes->chunks == TREE_CHUNKS)
		return -ENOMEM;
	/* a timer with few jobs does without a huge page */
	mem = pf_alloc(TREE_CHUNK, nodes->chunks > 0);
	if (!mem)
		return -ENOMEM;
	if (nodes->lock_memory && mlock(mem, TREE_CHUNK))
		nodes->lock_error = -errno;
	nodes->chunk[nodes->chunks++] = mem;
	return 0;
}

int tree_reserve(struct tree *tree)
{
	struct tree_nodes *nodes = tree->nodes;

	/* each level may be split, and get a new root */
	if (nodes->free + nodes->chunks * CHUNK_NODES - nodes->used > tree->height)
		return 0;
	return grow(nodes);
}

int tree_nodes_reserve(struct tree_nodes *nodes, uint32_t count)
{
	int ret = 0;

	/* a quarter as many leaves at most, a third of that above them, and some to spare */
	while (!ret && nodes->chunks * CHUNK_NODES < (uint64_t)count / 2 + 2 * TREE_HEIGHT)
		ret = grow(nodes);
	return ret;
}

static void insert(struct tree_node *node, uint32_t at, struct tree_key key, uint32_t entry)
{
	move(node, at + 1, node, at, node->count - at);
	set(node, at, key, entry);
	node->count++;
}

/* Move the upper half of a full node to a new one, and insert; returns the new one. */
static uint32_t split(struct tree_nodes *nodes, struct tree_node *node, uint32_t at,
		      struct tree_key key, uint32_t entry)
{
	uint32_t i = node_get(nodes), keep = TREE_FANOUT / 2;
	struct tree_node *upper = node_at(nodes, i);

	/* who adds at the end goes on there: leave full nodes behind */
	if (at == TREE_FANOUT)
		keep = TREE_FANOUT;
	upper->count = TREE_FANOUT - keep;
	node->count = keep;
	move(upper, 0, node, keep, upper->count);
	if (at > keep || keep == TREE_FANOUT)
		insert(upper, at - keep, key, entry);
	else
		insert(node, at, key, entry);
	return i;
}

static void new_root(struct tree *tree, struct tree_key key, uint32_t upper)
{
	uint32_t i = node_get(tree->nodes);
	struct tree_node *node = node_at(tree->nodes, i);

	node->count = 2;
	/* the first key does not count */
	set(node, 0, key, tree->root);
	set(node, 1, key, upper);
	tree->root = i;
	tree->height++;
}

uint32_t tree_add(struct tree *tree, struct tree_key key, uint32_t slot)
{
	uint32_t last, entry = slot, level;
	struct path path;

	if (!tree->height) {
		tree->root = node_get(tree->nodes);
		tree->height = 1;
		node_at(tree->nodes, tree->root)->count = 0;
	}
	find(tree, key, &path);
	last = before(tree, &path);

	for (level = 0; level < tree->height; level++) {
		struct tree_node *node = path.node[level];

		if (node->count < TREE_FANOUT) {
			insert(node, path.at[level] + !!level, key, entry);
			return last;
		}
		entry = split(tree->nodes, node, path.at[level] + !!level, key, entry);
		key = key_at(node_at(tree->nodes, entry), 0);
	}
	new_root(tree, key, entry);
	return last;
}

/* ---- removing --------------------------------------------------------------------------- */

static void erase(struct tree_node *node, uint32_t at)
{
	node->count--;
	move(node, at, node, at + 1, node->count - at);
}

/*
 * Make one node of the children @at and @at + 1 of @parent, nodes of @level, if they fit half a
 * node. An inner node's first key did not count: it is what @parent says.
 */
static bool join(struct tree_nodes *nodes, struct tree_node *parent, uint32_t at, uint32_t level)
{
	struct tree_node *lower, *upper;

	if (at + 1 >= parent->count)
		return false;
	lower = node_at(nodes, parent->entry[at]);
	upper = node_at(nodes, parent->entry[at + 1]);
	if (lower->count + upper->count > TREE_FANOUT / 2)
		return false;
	if (level)
		set(upper, 0, key_at(parent, at + 1), upper->entry[0]);
	move(lower, lower->count, upper, 0, upper->count);
	lower->count += upper->count;
	node_put(nodes, parent->entry[at + 1]);
	erase(parent, at + 1);
	return true;
}

/* A node has become less: free it, or join it with a neighbour. Has its parent become less? */
static bool shrink(struct tree_nodes *nodes, const struct path *path, uint32_t level)
{
	struct tree_node *node = path->node[level], *parent = path->node[level + 1];
	uint32_t at = path->at[level + 1];

	if (!node->count) {
		node_put(nodes, parent->entry[at]);
		erase(parent, at);
		return true;
	}
	/* to look at the neighbours costs cache misses */
	if (node->count > TREE_FANOUT / 4)
		return false;
	return join(nodes, parent, at, level) || (at && join(nodes, parent, at - 1, level));
}

static void shrink_root(struct tree *tree)
{
	struct tree_node *root = node_at(tree->nodes, tree->root);

	while (tree->height > 1 && root->count == 1) {
		node_put(tree->nodes, tree->root);
		tree->root = root->entry[0];
		tree->height--;
		root = node_at(tree->nodes, tree->root);
	}
	if (!root->count) {
		node_put(tree->nodes, tree->root);
		tree_init(tree, tree->nodes);
	}
}

uint32_t tree_remove(struct tree *tree, struct tree_key key)
{
	struct path path;
	uint32_t last;

	find(tree, key, &path);
	last = before(tree, &path);
	erase(path.node[0], path.at[0]);
	for (uint32_t level = 0; level + 1 < tree->height; level++) {
		if (!shrink(tree->nodes, &path, level))
			break;
	}
	shrink_root(tree);
	return last;
}

uint32_t tree_first(const struct tree *tree)
{
	const struct tree_node *node = node_at(tree->nodes, tree->root);

	for (uint32_t level = tree->height - 1; level; level--)
		node = node_at(tree->nodes, node->entry[0]);
	return node->entry[0];
}
