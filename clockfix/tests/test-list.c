// SPDX-License-Identifier: LGPL-2.1-or-later
/* test-list.c - slots, list and trees against plain models */
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
static struct entry model[MODEL];
static size_t count;		/* sorted entries, the first is where the worker is */
static uint64_t seq, rng;

static void setup(void)
{
	sim_reset();
	memset(&slots, 0, sizeof(slots));
	memset(&list, 0, sizeof(list));
	slots_init(&slots, 2 * MODEL, false);
	CHECK_EQ(list_init(&list, &slots), 0);
	count = 0;
	seq = 0;
	rng = 12345;
}

static void teardown(void)
{
	slots_destroy(&slots);
	CHECK_EQ(sim.allocated, 0);
}

static bool add(int64_t instant)
{
	uint32_t i = slot_get(&slots);
	struct slot *slot = slot_at(&slots, i);
	size_t at = 0;

	CHECK(i != SLOT_NONE);
	atomic_store(&slot->in_list.instant, instant);
	atomic_store(&slot->in_list.seq, seq);
	atomic_store(&slot->passed, false);
	atomic_store(&slot->state, state_of(state_generation(slot->state), PHASE_PENDING));
	while (at < count && model[at].instant <= instant)
		at++;
	memmove(&model[at + 1], &model[at], (count - at) * sizeof(*model));
	model[at] = (struct entry){ i, instant, seq++ };
	count++;
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

/*
 * Slots of a tree, which must be in order and balanced: of two subtrees none is higher than the
 * other by more than 1. The height, or -1.
 */
static int walk(const struct tree *tree, uint32_t i, uint32_t *found, int64_t *last)
{
	struct place *place;
	struct slot *slot;
	int left, right;

	if (i == SLOT_NONE)
		return 0;
	slot = slot_at(&slots, i);
	place = tree->kind == TREE_LIST ? &slot->in_list : &slot->own;
	left = walk(tree, place->left, found, last);
	if (place->instant < *last)
		return -1;
	*last = place->instant;
	if (!(*found)++ && tree->first != i)
		return -1;
	right = walk(tree, place->right, found, last);
	if (left < 0 || right < 0 || left - right > 1 || right - left > 1 ||
	    place->height != (left > right ? left : right) + 1)
		return -1;
	return place->height;
}

static bool tree_sound(const struct tree *tree, uint32_t expected)
{
	int64_t last = INT64_MIN;
	uint32_t found = 0;

	return walk(tree, tree->root, &found, &last) >= 0 && found == expected &&
	       (expected || tree->first == SLOT_NONE);
}

/* The whole list is sorted, and what is in it is in the tree. */
static void compare_all(void)
{
	int64_t last = INT64_MIN;
	uint32_t linked = 0;

	for (uint32_t i = list.head; i != list.dummy; linked++) {
		struct slot *slot = slot_at(&slots, i);

		CHECK(slot->in_list.instant >= last);
		CHECK(slot->linked);
		last = slot->in_list.instant;
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

static void list_is_never_empty(void)
{
	setup();
	CHECK_EQ(work_slot(list_work(&list)), list.dummy);
	CHECK_EQ(slot_at(&slots, list.dummy)->in_list.instant, INT64_MAX);
	add(10);
	pass();
	CHECK_EQ(work_slot(list_work(&list)), list.dummy);
	teardown();
}

static void equal_instants_keep_their_order(void)
{
	setup();
	for (int i = 0; i < 20; i++)
		add(5);
	compare();
	teardown();
}

static void only_an_earliest_job_wakes(void)
{
	setup();
	CHECK(add(100));
	CHECK(!add(100));
	CHECK(!add(200));
	CHECK(add(99));
	CHECK(!add(150));
	compare();
	teardown();
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

static void job_in_the_past_of_finished_ones(void)
{
	setup();
	add(100);
	add(200);
	pass();
	pass();
	CHECK(add(50));
	compare();
	pass();
	/* the worker comes by the finished ones again */
	CHECK_EQ(slot_at(&slots, work_slot(list_work(&list)))->in_list.instant, 100);
	CHECK(slot_finished(slot_at(&slots, work_slot(list_work(&list)))));
	teardown();
}

static void clean_up_stops_at_work(void)
{
	setup();
	CHECK_EQ(list_clean(&list), SLOT_NONE);
	for (int i = 0; i < 4; i++)
		add(i);
	CHECK_EQ(list_clean(&list), SLOT_NONE);
	pass();
	pass();
	/* work is at the third */
	CHECK_EQ(slot_at(&slots, list_clean(&list))->in_list.instant, 0);
	CHECK_EQ(slot_at(&slots, list_clean(&list))->in_list.instant, 1);
	CHECK_EQ(list_clean(&list), SLOT_NONE);
	compare();
	teardown();
}

static void every_change_of_work_is_counted(void)
{
	uint64_t work;

	setup();
	add(100);
	work = list_work(&list);
	add(50);
	remove_at(0);
	CHECK_EQ(work_slot(list_work(&list)), work_slot(work));
	CHECK(list_work(&list) != work);
	teardown();
}

static void random_operations_match_the_model(void)
{
	setup();
	for (int n = 0; n < 200000 && !check_failed; n++) {
		uint64_t r = check_random(&rng);

		switch (r % 8) {
		case 0 ... 3:
			if (count < MODEL - 1)
				add(r / 8 % 1000 + n / 8);
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

static void the_workers_tree_matches_the_model(void)
{
	struct tree tree;
	size_t held = 0;

	setup();
	tree_init(&tree, TREE_WORKER, &slots);
	for (int n = 0; n < 200000 && !check_failed; n++) {
		uint64_t r = check_random(&rng);

		if (held < MODEL && (r & 1 || !held)) {
			uint32_t i = slot_get(&slots);
			size_t at = 0;

			slot_at(&slots, i)->own.instant = r / 2 % 300;
			slot_at(&slots, i)->own.seq = seq;
			while (at < held && model[at].instant <= (int64_t)(r / 2 % 300))
				at++;
			memmove(&model[at + 1], &model[at], (held - at) * sizeof(*model));
			model[at] = (struct entry){ i, r / 2 % 300, seq++ };
			held++;
			CHECK_EQ(tree_add(&tree, i), at ? model[at - 1].slot : SLOT_NONE);
		} else {
			/* the first, or one from the middle */
			size_t at = r & 2 ? r / 4 % held : 0;
			uint32_t i = model[at].slot;

			CHECK_EQ(tree.first, model[0].slot);
			CHECK_EQ(tree_remove(&tree, i), at ? model[at - 1].slot : SLOT_NONE);
			CHECK_EQ(slot_at(&slots, i)->own.height, 0);
			slot_put(&slots, i);
			held--;
			memmove(&model[at], &model[at + 1], (held - at) * sizeof(*model));
		}
		if (n % 16 == 0)
			CHECK(tree_sound(&tree, held));
	}
	teardown();
}

CHECK_MAIN(TEST(list_is_never_empty), TEST(equal_instants_keep_their_order),
	   TEST(only_an_earliest_job_wakes), TEST(job_behind_a_finished_one_wakes),
	   TEST(job_in_the_past_of_finished_ones), TEST(clean_up_stops_at_work),
	   TEST(every_change_of_work_is_counted), TEST(random_operations_match_the_model),
	   TEST(slots_run_out_and_come_back), TEST(the_workers_tree_matches_the_model))
