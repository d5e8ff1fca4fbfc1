// SPDX-License-Identifier: LGPL-2.1-or-later
/* test-list.c - slots, list and tree against plain models */
#include <string.h>

#include <platform.h>

#include "check.h"
#include "list.h"

#define MODEL 512

struct entry {
	uint32_t slot;
	int64_t instant;
	uint64_t seq;
};

static struct slots slots;
static struct list list;
static struct tree_nodes nodes;
static struct entry model[MODEL];
static size_t count;		/* sorted entries, the first is where the worker is */
static uint64_t seq, rng;

static void setup(void)
{
	sim_reset();
	memset(&slots, 0, sizeof(slots));
	memset(&list, 0, sizeof(list));
	slots_init(&slots, 2 * MODEL, false);
	tree_nodes_init(&nodes);
	CHECK_EQ(list_init(&list, &slots, &nodes), 0);
	count = 0;
	seq = 0;
	rng = 12345;
}

static void teardown(void)
{
	slots_destroy(&slots);
	tree_nodes_destroy(&nodes);
	CHECK_EQ(sim.allocated, 0);
}

static bool add(int64_t instant)
{
	uint32_t i = slot_get(&slots);
	struct slot *slot = slot_at(&slots, i);
	size_t at = 0;

	CHECK(i != SLOT_NONE);
	atomic_store(&slot->instant, instant);
	atomic_store(&slot->seq, seq);
	atomic_store(&slot->passed, false);
	atomic_store(&slot->state, state_of(state_generation(slot->state), PHASE_PENDING));
	while (at < count && model[at].instant <= instant)
		at++;
	memmove(&model[at + 1], &model[at], (count - at) * sizeof(*model));
	model[at] = (struct entry){ i, instant, seq++ };
	count++;
	CHECK_EQ(list_reserve(&list), 0);
	return list_add(&list, i);
}

/* what the worker does with a job */
static void pass(void)
{
	uint64_t work = list_work(&list);
	struct slot *slot = slot_at(&slots, work_slot(work));

	atomic_store(&slot->state, state_of(state_generation(slot->state), PHASE_DONE));
	atomic_store(&slot->passed, true);
	list_out(&list, work);
	memmove(&model[0], &model[1], --count * sizeof(*model));
}

static void remove_at(size_t at)
{
	uint32_t i = model[at].slot;
	struct slot *slot = slot_at(&slots, i);

	atomic_store(&slot->state, state_of(state_generation(slot->state), PHASE_CANCELLED));
	CHECK_EQ(list_remove(&list, i), at == 0);
	slot_put(&slots, i);
	memmove(&model[at], &model[at + 1], (--count - at) * sizeof(*model));
}

/* what comes next that is not finished: the worker passes over the others */
static uint32_t unfinished(uint32_t i)
{
	while (slot_finished(slot_at(&slots, i)))
		i = atomic_load(&slot_at(&slots, i)->next);
	return i;
}

/* The whole list is sorted, and what is in it is in the tree. */
static void compare_all(void)
{
	int64_t last = INT64_MIN;
	uint32_t linked = 0;

	for (uint32_t i = list.head; i != list.dummy; linked++) {
		struct slot *slot = slot_at(&slots, i);

		CHECK(slot->instant >= last);
		CHECK(slot->linked);
		last = slot->instant;
		i = atomic_load(&slot->next);
	}
	CHECK(tree_sound(&list.tree, linked));
}

/* The worker finds exactly the model's jobs in order. */
static void compare(void)
{
	uint32_t i = unfinished(work_slot(list_work(&list)));

	for (size_t at = 0; at < count; at++) {
		CHECK_EQ(i, model[at].slot);
		if (i != model[at].slot)
			return;
		i = unfinished(atomic_load(&slot_at(&slots, i)->next));
	}
	CHECK_EQ(i, list.dummy);
	compare_all();
}

/* [III.e]: the job at work is done, and the worker may have read its link already */
static void job_behind_a_finished_one_wakes(void)
{
	uint64_t work;

	setup();
	add(100);
	work = list_work(&list);
	atomic_store(&slot_at(&slots, work_slot(work))->passed, true);
	CHECK(add(200));
	list_out(&list, work);
	memmove(&model[0], &model[1], --count * sizeof(*model));
	compare();
	teardown();
}

static void random_operations_match_the_model(void)
{
	setup();
	for (int n = 0; n < 200000 && !check_failed; n++) {
		uint64_t r = check_random(&rng);

		switch (r % 8) {
		case 0 ... 3:
			/* instants that are equal, and before those of finished jobs, too */
			if (count < MODEL - 1)
				CHECK_EQ(add(r / 8 % 1000 + n / 8), model[0].seq == seq - 1);
			break;
		case 4 ... 5:
			if (count)
				remove_at(r / 8 % count);
			break;
		case 6:
			if (count)
				pass();
			break;
		default:
			for (uint32_t i; (i = list_clean(&list)) != SLOT_NONE;)
				slot_put(&slots, i);
		}
		/* jobs that come back before finished ones: let the worker pass those */
		while (slot_finished(slot_at(&slots, work_slot(list_work(&list)))))
			list_out(&list, list_work(&list));
		if (n % 16 == 0)
			compare();
	}
	teardown();
}

static void slots_run_out_and_come_back(void)
{
	uint32_t i, first = SLOT_NONE, generation;

	setup();
	for (uint32_t n = 1; n < 2 * MODEL; n++) {
		i = slot_get(&slots);
		CHECK(i != SLOT_NONE);
		if (first == SLOT_NONE)
			first = i;
	}
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
	teardown();
}

/* Up to three levels; all additions at one end, at random, and until it is empty again. */
static void the_tree_matches_the_model(void)
{
	struct tree_nodes own;
	struct tree tree;
	size_t held = 0;

	setup();
	tree_nodes_init(&own);
	tree_init(&tree, &own);
	CHECK_EQ(tree_nodes_reserve(&own, MODEL), 0);
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
		CHECK(own.used - own.free <= MODEL / 2 + 2 * TREE_HEIGHT);
		if (n % 16 == 0)
			CHECK(tree_sound(&tree, held));
	}
	tree_nodes_destroy(&own);
	teardown();
}

CHECK_MAIN(TEST(job_behind_a_finished_one_wakes), TEST(random_operations_match_the_model),
	   TEST(slots_run_out_and_come_back), TEST(the_tree_matches_the_model))
