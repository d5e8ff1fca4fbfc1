// SPDX-License-Identifier: LGPL-2.1-or-later
/* test-tree.c - the tree against a plain model; slots */
#include <string.h>

#include <platform.h>

#include "check.h"
#include "slots.h"
#include "tree.h"

#define MODEL 512

struct entry {
	uint32_t slot;
	int64_t instant;
	uint64_t seq;
};

static void slots_run_out_and_come_back(void)
{
	static struct slots slots;
	uint32_t first, generation;

	sim_reset();
	slots_init(&slots, 1000, false);
	first = slot_get(&slots);
	for (uint32_t n = 1; n < 1000; n++)
		CHECK(slot_get(&slots) != SLOT_NONE);
	CHECK_EQ(slot_get(&slots), SLOT_NONE);
	generation = state_generation(slot_at(&slots, first)->state);
	slot_put(&slots, first);
	CHECK_EQ(slot_get(&slots), first);
	CHECK_EQ(state_generation(slot_at(&slots, first)->state), generation + 1);
	/* a handle is never 0, not even after 2^32 uses of a slot */
	atomic_store(&slot_at(&slots, first)->state, state_of(UINT32_MAX, PHASE_DONE));
	slot_put(&slots, first);
	slot_get(&slots);
	CHECK_EQ(state_generation(slot_at(&slots, first)->state), 1);
	slots_destroy(&slots);
	CHECK_EQ(sim.allocated, 0);
}

/* Up to three levels; all additions at one end, at random, and until it is empty again. */
static void the_tree_matches_the_model(void)
{
	static struct tree_nodes nodes;
	static struct entry model[MODEL];
	uint64_t seq = 0, rng = 12345;
	struct tree tree;
	size_t held = 0;

	sim_reset();
	tree_nodes_init(&nodes);
	tree_init(&tree, &nodes);
	CHECK_EQ(tree_nodes_reserve(&nodes, MODEL), 0);
	/* never more memory than was reserved */
	sim.alloc_fail = 0;
	for (int n = 0; n < 300000 && !check_failed; n++) {
		uint64_t r = check_random(&rng);
		bool grows = n / 3000 % 2;

		if (held < MODEL && (r % 4 < (grows ? 3 : 1) || !held)) {
			struct tree_key key = { n / 50000 % 2 ? n : (int64_t)(r / 4 % 300), seq++ };
			size_t at = 0;

			while (at < held && model[at].instant <= key.instant)
				at++;
			memmove(&model[at + 1], &model[at], (held - at) * sizeof(*model));
			model[at] = (struct entry){ n, key.instant, key.seq };
			held++;
			CHECK_EQ(tree_add(&tree, key, n), at ? model[at - 1].slot : TREE_NONE);
		} else {
			/* the first, or one from the middle */
			size_t at = r & 4 ? r / 8 % held : 0;
			struct tree_key key = { model[at].instant, model[at].seq };

			CHECK_EQ(tree_first(&tree), model[0].slot);
			CHECK_EQ(tree_remove(&tree, key), at ? model[at - 1].slot : TREE_NONE);
			held--;
			memmove(&model[at], &model[at + 1], (held - at) * sizeof(*model));
		}
		CHECK_EQ(tree_empty(&tree), !held);
		CHECK(nodes.used - nodes.free <= MODEL / 2 + 2 * TREE_HEIGHT);
		if (n % 16 == 0)
			CHECK(tree_sound(&tree, held));
	}
	tree_nodes_destroy(&nodes);
	CHECK_EQ(sim.allocated, 0);
}

CHECK_MAIN(TEST(slots_run_out_and_come_back), TEST(the_tree_matches_the_model))
