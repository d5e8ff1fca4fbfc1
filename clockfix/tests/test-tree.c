// SPDX-License-Identifier: LGPL-2.1-or-later
/* test-tree.c - the tree that finds jobs' places, against a sorted array */
#include <string.h>

#include <platform.h>

#include "check.h"
#include "tree.h"

#define MODEL 20000

struct entry {
	struct tree_key key;
	uint32_t slot;
};

static struct tree_nodes nodes;
static struct tree tree;
static struct entry model[MODEL];
static uint32_t count;
static uint64_t seq, rng;

static void setup(void)
{
	sim_reset();
	tree_nodes_init(&nodes);
	tree_init(&tree, &nodes);
	count = 0;
	seq = 0;
	rng = 54321;
}

static void teardown(void)
{
	tree_nodes_destroy(&nodes);
	CHECK_EQ(sim.allocated, 0);
}

static uint32_t nodes_in_use(void)
{
	return nodes.used - nodes.free;
}

/* number of entries of the model up to and with @instant */
static uint32_t model_place(int64_t instant)
{
	uint32_t at = 0, len = count;

	while (len) {
		uint32_t half = len / 2;

		if (model[at + half].key.instant <= instant) {
			at += half + 1;
			len -= half + 1;
		} else {
			len = half;
		}
	}
	return at;
}

static uint32_t model_before(uint32_t at)
{
	return at ? model[at - 1].slot : TREE_NONE;
}

static void add(int64_t instant)
{
	struct entry entry = { .key = { instant, seq }, .slot = (uint32_t)seq };
	uint32_t at = model_place(instant);

	seq++;
	CHECK_EQ(tree_reserve(&tree), 0);
	CHECK_EQ(tree_add(&tree, entry.key, entry.slot), model_before(at));
	memmove(&model[at + 1], &model[at], (count - at) * sizeof(*model));
	model[at] = entry;
	count++;
}

static void remove_at(uint32_t at)
{
	CHECK_EQ(tree_remove(&tree, model[at].key), model_before(at));
	memmove(&model[at], &model[at + 1], (--count - at) * sizeof(*model));
}

static void check(void)
{
	CHECK(tree_sound(&tree, count));
	/* a quarter full on average, and inner nodes are fewer than leaves */
	CHECK(nodes_in_use() <= 2 * (count / (TREE_FANOUT / 4) + 1));
}

static void drain(void)
{
	while (count && !check_failed) {
		remove_at(check_random(&rng) % count);
		if (count % 64 == 0)
			check();
	}
	check();
	CHECK_EQ(nodes_in_use(), 0);
	CHECK_EQ(tree.height, 0);
}

static void random_instants(void)
{
	setup();
	while (count < MODEL && !check_failed) {
		add((int64_t)(check_random(&rng) % 1000000000));
		if (count % 64 == 0)
			check();
	}
	drain();
	teardown();
}

static void equal_instants(void)
{
	setup();
	while (count < 5000 && !check_failed)
		add((int64_t)(check_random(&rng) % 3));
	check();
	drain();
	teardown();
}

/* added at the end, removed at the beginning, as time goes by */
static void rising_instants(void)
{
	setup();
	for (int64_t n = 0; n < 50000 && !check_failed; n++) {
		add(n);
		if (count > 2000)
			remove_at(0);
		if (n % 256 == 0)
			check();
	}
	/* nodes are left behind full */
	CHECK(nodes_in_use() < 2000 / TREE_FANOUT * 5 / 4);
	drain();
	teardown();
}

static void falling_instants(void)
{
	setup();
	for (int64_t n = 5000; n && !check_failed; n--) {
		add(n);
		if (n % 64 == 0)
			check();
	}
	drain();
	teardown();
}

/* few are left of many, everywhere: as of timeouts that are cancelled */
static void sparse_survivors_are_brought_together(void)
{
	setup();
	while (count < MODEL)
		add((int64_t)(check_random(&rng) % 1000000000));
	for (uint32_t at = 0; at < count && !check_failed; at++) {
		for (int n = 0; n < 20 && at + 1 < count; n++)
			remove_at(at + 1);
	}
	check();
	drain();
	teardown();
}

static void random_operations(void)
{
	setup();
	for (int n = 0; n < 300000 && !check_failed; n++) {
		uint64_t r = check_random(&rng);
		/* the number rises and falls slowly */
		bool rise = n / 20000 % 2 == 0;

		if (count < MODEL - 1 && (!count || r % 16 < (rise ? 9 : 7)))
			add((int64_t)(r / 16 % 5000) + n / 32);
		else
			remove_at(r / 16 % 4 ? r / 64 % count : 0);
		if (n % 256 == 0)
			check();
	}
	drain();
	teardown();
}

/* full and nearly empty in turn, at the same instants: inner nodes are joined and filled again */
static void rise_and_fall(void)
{
	setup();
	for (int n = 0; n < 10 && !check_failed; n++) {
		while (count < 8000)
			add((int64_t)(check_random(&rng) % 100000));
		check();
		while (count > 40) {
			uint64_t r = check_random(&rng);

			if (r % 4)
				remove_at(r / 4 % count);
			else
				add((int64_t)(r / 4 % 100000));
			if (count % 64 == 0)
				check();
		}
	}
	drain();
	teardown();
}

static void two_trees_share_nodes(void)
{
	struct tree other;
	struct tree_key key = { 0, 0 };

	setup();
	tree_init(&other, &nodes);
	for (int n = 0; n < 3000; n++) {
		add(n % 100);
		key.instant = n;
		CHECK_EQ(tree_reserve(&other), 0);
		CHECK_EQ(tree_add(&other, key, n), n ? (uint32_t)n - 1 : TREE_NONE);
	}
	CHECK(tree_sound(&tree, 3000));
	CHECK(tree_sound(&other, 3000));
	for (key.instant = 0; key.instant < 3000; key.instant++)
		CHECK_EQ(tree_remove(&other, key), TREE_NONE);
	CHECK(tree_sound(&other, 0));
	drain();
	teardown();
}

/* whatever is asked for after a reservation that failed: nothing has changed, nothing is lost */
static void no_memory(void)
{
	setup();
	sim.alloc_fail = 0;
	CHECK_EQ(tree_reserve(&tree), -ENOMEM);
	CHECK_EQ(tree.height, 0);
	/* one chunk, which is soon full */
	sim.alloc_fail = 1;
	while (count < MODEL && !tree_reserve(&tree))
		add((int64_t)count * 7919 % 100003);
	CHECK_EQ(count, MODEL);
	CHECK_EQ(sim.allocated, 1);
	/* the last of its nodes */
	nodes.used += TREE_CHUNK / 512 - nodes.used - tree.height + nodes.free;
	CHECK_EQ(tree_reserve(&tree), -ENOMEM);
	CHECK(tree_sound(&tree, count));
	sim.alloc_fail = 1;
	CHECK_EQ(tree_reserve(&tree), 0);
	CHECK_EQ(sim.allocated, 2);
	teardown();
}

CHECK_MAIN(TEST(random_instants), TEST(equal_instants), TEST(rising_instants),
	   TEST(falling_instants), TEST(sparse_survivors_are_brought_together),
	   TEST(random_operations), TEST(rise_and_fall), TEST(two_trees_share_nodes),
	   TEST(no_memory))
