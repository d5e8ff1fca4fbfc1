// SPDX-License-Identifier: LGPL-2.1-or-later
/* test-model.c - jobs submitted and cancelled, in any order, against a model; simulated */
#include "sim/runs.h"
#include "sim/sound.h"

/* ---- any operations in any order -------------------------------------------------------- */

#define ITEMS	90
#define MOST	24	/* jobs of threads, and as many of jobs */

/* What a job is expected to do: the model. */
struct item {
	clockfix_job handle;
	int64_t instant, period;
	uint64_t left;		/* runs; 0: no limit */
	uint64_t index, order;	/* of its next run; of submissions */
	bool pending, reserved, cancelled;
	int owed;		/* jobs that were scheduled and have not been released */
};

static struct item items[ITEMS], *running;
static bool by_job;	/* what is done now; else by another thread */
static uint64_t rng, submissions, cancelled;

static int count(bool of_jobs)
{
	int n = 0;

	for (int i = 0; i < ITEMS; i++)
		n += items[i].pending && (!of_jobs || items[i].reserved);
	return n;
}

static void any_operation(void);

static void item_runs(void *arg, const struct clockfix_run *run)
{
	struct item *item = arg;

	CHECK(item->pending && !item->cancelled);
	CHECK_EQ(run->instant, item->instant);
	CHECK_EQ(run->index, item->index++);
	CHECK_EQ(run->missed, 0);
	CHECK(run->started >= run->instant);
	for (int i = 0; i < ITEMS; i++)
		CHECK(!items[i].pending || items[i].instant > item->instant ||
		      (items[i].instant == item->instant && items[i].order >= item->order));
	running = item;
	for (uint64_t n = check_random(&rng) % 4; n; n--) {
		by_job = check_random(&rng) % 3;
		worker_set_self(by_job ? timer : NULL);
		any_operation();
	}
	worker_set_self(timer);
	by_job = false;
	running = NULL;
	item->instant += item->period;
	item->pending = item->period && !item->cancelled && item->left != 1;
	item->left -= item->left > 0;
}

/* Once for each job, when it is over. */
static void item_released(void *arg)
{
	struct item *item = arg;

	CHECK(item->owed > (item->pending && item != running));
	item->owed--;
}

/* some of them the same */
static int64_t some_instant(uint64_t r)
{
	return (sim.now + (int64_t)(r % 60000) - 10000) / 500 * 500;
}

static void schedule_item(struct item *item, uint64_t r)
{
	int64_t start = some_instant(r);
	/* so long that none is missed */
	struct clockfix_spec spec = periodic(start, r / 64 % 3 ? 0 : 200000 + r % 40000, 0);
	bool room = by_job ? count(true) < MOST : count(false) < MOST;
	clockfix_job handle = item->handle;

	spec.runs = spec.period ? r / 256 % 4 : 0;
	spec.fn = item_runs;
	spec.arg = item;
	spec.release = item_released;
	if (item->pending)
		return;
	CHECK_EQ(clockfix_schedule(timer, &spec, &handle), room ? 0 : -ENOMEM);
	CHECK_EQ(handle == item->handle, !room);
	if (room)
		*item = (struct item){ handle, start, spec.period, spec.runs, 0,
				       ++submissions, true, by_job, false, item->owed + 1 };
}

static void cancel_item(struct item *item)
{
	bool pending = item->pending;
	int ret;

	item->pending &= item == running;
	ret = clockfix_cancel(timer, item->handle);
	CHECK_EQ(ret, item == running ? -EINPROGRESS : pending ? 0 : -ENOENT);
	cancelled += !ret;
	if (item == running)
		item->cancelled = true;
}

static void any_operation(void)
{
	uint64_t r = check_random(&rng);
	struct item *item = &items[r % ITEMS];

	r /= ITEMS;
	/* a job looks at itself as often as at all others */
	if (running && r % 64 < 32)
		item = running;
	r /= 64;
	if (r % 3)
		schedule_item(item, r / 3);
	else
		cancel_item(item);
}

/* The list is sorted, and what is in it is in the tree. */
static void list_is_sound(void)
{
	struct list *list = &timer->list;
	int64_t last = INT64_MIN;
	uint32_t linked = 0;

	for (uint32_t i = list->head; i != list->dummy; linked++) {
		struct slot *slot = slot_at(&timer->slots, i);

		CHECK(slot->listed.instant >= last && slot->linked);
		last = slot->listed.instant;
		i = atomic_load(&slot->next);
	}
	CHECK(tree_sound(&list->tree, linked));
}

/* Nothing is lost, early, out of order or run when cancelled, and all memory comes back. */
static void any_operations_match_the_model(void)
{
	struct clockfix_options options;
	int owed = 0;

	clockfix_options_init(&options);
	options.max_jobs = MOST;
	setup_with(&options);
	memset(items, 0, sizeof(items));
	rng = 77;
	for (int n = 0; n < 200000 && !check_failed; n++) {
		if (check_random(&rng) % 4 || !count(false))
			any_operation();
		else
			sim_turn(timer);
		CHECK_EQ(timer_pending(timer), count(false));
		if (n % 16 == 0)
			list_is_sound();
	}
	CHECK(stats().jobs > 10000);
	CHECK_EQ(stats().cancelled, cancelled);
	/* hardly any are left to the end */
	for (int i = 0; i < ITEMS; i++)
		owed += items[i].owed - items[i].pending;
	printf("# %d jobs that are over have not been released\n", owed);
	CHECK(owed < MOST + 8);
	for (int i = 0; i < ITEMS; i++)
		items[i].pending = false;
	teardown();
	for (int i = 0; i < ITEMS; i++)
		CHECK_EQ(items[i].owed, 0);
}

/* ---- a period shorter than a turn -------------------------------------------------------- */

static void a_tiny_period_that_skips_runs_all_the_same(void)
{
	for (int period = 1; period <= 10; period++) {
		struct clockfix_spec spec;

		setup();
		spec = periodic(sim.now, period, 0);
		CHECK_EQ(clockfix_schedule(timer, &spec, NULL), 0);
		for (int i = 0; i < 100; i++)
			sim_turn(timer);
		CHECK(runs >= 49);
		CHECK(ran[runs - 1].run.missed > 0);
		teardown();
	}
}

/* ---- slots, and the tree of them ----------------------------------------------------------- */

#define SLOTS (1 << 17)

static void slots_run_out_and_come_back(void)
{
	uint32_t first, generation;
	struct slots slots = { 0 };

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

/* Of 2^17 slots: 17 at best. In ascending, descending and no order. */
static void the_tree_is_not_deep(void)
{
	rng = 1;
	sim_reset();
	for (int order = 0; order < 3; order++) {
		struct slots slots = { 0 };
		struct tree tree = { &slots, offsetof(struct slot, own), SLOT_NONE };

		CHECK_EQ(slots_init(&slots, SLOTS), 0);
		for (int64_t n = 0; n < SLOTS; n++) {
			uint32_t i = slot_get(&slots);

			slot_at(&slots, i)->own.instant =
				order == 2 ? (int64_t)(check_random(&rng) / 2) : order ? -n : n;
			tree_add(&tree, i);
		}
		CHECK(tree_sound(&tree, SLOTS));
		printf("# %u deep\n", tree_depth(&tree, tree.root));
		CHECK(tree_depth(&tree, tree.root) < 3 * 17);
		slots_destroy(&slots);
	}
}

CHECK_MAIN(TEST(any_operations_match_the_model),
	   TEST(a_tiny_period_that_skips_runs_all_the_same),
	   TEST(slots_run_out_and_come_back), TEST(the_tree_is_not_deep))
