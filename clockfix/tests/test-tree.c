// SPDX-License-Identifier: LGPL-2.1-or-later
/* test-tree.c - the tree against a plain model; slots */
#include <string.h>

#include <platform.h>

#include "check.h"
#include "sim/sound.h"

#define MODEL 512
#define SLOTS (1 << 17)

static struct slots slots;

static void slots_run_out_and_come_back(void)
{
	uint32_t first, generation;

	sim_reset();
	CHECK_EQ(slots_init(&slots, 1000), 0);
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

static struct tree tree;

static struct entry {
	uint32_t slot;
	int64_t instant;
} model[MODEL];
static size_t held;

static void add(int64_t instant, uint64_t seq)
{
	uint32_t i = slot_get(&slots);
	struct slot *slot = slot_at(&slots, i);
	size_t at = 0;

	slot->own.instant = instant;
	slot->seq = seq;
	while (at < held && model[at].instant <= instant)
		at++;
	memmove(&model[at + 1], &model[at], (held - at) * sizeof(*model));
	model[at] = (struct entry){ i, instant };
	held++;
	CHECK_EQ(tree_add(&tree, i), at ? model[at - 1].slot : SLOT_NONE);
}

static void remove_at(size_t at)
{
	uint32_t i = model[at].slot;

	CHECK_EQ(tree_remove(&tree, i), at ? model[at - 1].slot : SLOT_NONE);
	slot_put(&slots, i);
	held--;
	memmove(&model[at], &model[at + 1], (held - at) * sizeof(*model));
}

static void begin(void)
{
	sim_reset();
	memset(&slots, 0, sizeof(slots));
	CHECK_EQ(slots_init(&slots, SLOTS), 0);
	tree = (struct tree){ &slots, offsetof(struct slot, own), SLOT_NONE };
	held = 0;
}

/* All additions at one end, at random, and until it is empty again. */
static void the_tree_matches_the_model(void)
{
	uint64_t rng = 12345;

	begin();
	for (int n = 0; n < 300000 && !check_failed; n++) {
		uint64_t r = check_random(&rng);
		bool grows = n / 3000 % 2;

		if (held < MODEL && (r % 4 < (grows ? 3 : 1) || !held)) {
			add(n / 50000 % 2 ? n : (int64_t)(r / 4 % 300), n);
		} else {
			CHECK_EQ(tree_first(&tree), model[0].slot);
			/* the first, or one from the middle */
			remove_at(r & 4 ? r / 8 % held : 0);
		}
		CHECK_EQ(tree_first(&tree) == SLOT_NONE, !held);
		if (n % 16 == 0)
			CHECK(tree_sound(&tree, held));
	}
	slots_destroy(&slots);
}

/* Of 2^17 slots: 17 at best. In ascending, descending and no order. */
static void the_tree_is_not_deep(void)
{
	uint64_t rng = 1;

	for (int order = 0; order < 3; order++) {
		begin();
		for (int64_t n = 0; n < SLOTS; n++) {
			uint32_t i = slot_get(&slots);

			slot_at(&slots, i)->own.instant =
				order == 2 ? (int64_t)(check_random(&rng) / 2) : order ? -n : n;
			tree_add(&tree, i);
		}
		printf("# %u deep\n", tree_depth(&tree, tree.root));
		CHECK(tree_depth(&tree, tree.root) < 3 * 17);
		slots_destroy(&slots);
	}
}

CHECK_MAIN(TEST(slots_run_out_and_come_back), TEST(the_tree_matches_the_model),
	   TEST(the_tree_is_not_deep))
