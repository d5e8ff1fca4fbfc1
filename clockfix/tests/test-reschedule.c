// SPDX-License-Identifier: LGPL-2.1-or-later
/* test-reschedule.c - jobs moved, adjusted and cancelled, in any order; simulated */
#include "sim/runs.h"

/* ---- any operations in any order -------------------------------------------------------- */

#define ITEMS	90
#define MOST	64	/* jobs of threads, */
#define RESERVE	16	/* and of jobs */

/* What a job is expected to do: the model. */
struct item {
	clockfix_job handle;
	int64_t instant, period;
	uint64_t runs, left;	/* 0: no limit */
	uint64_t index, order;	/* of its next run; of submissions */
	bool pending, reserved, cancelled;
};

static struct item items[ITEMS], *running;
static uint64_t rng, submissions;

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
	for (uint64_t n = check_random(&rng) % 4; n; n--)
		any_operation();
	running = NULL;
	item->instant += item->period;
	item->pending = item->period && !item->cancelled && item->left != 1;
	item->left -= item->left > 0;
}

/* some of them the same */
static int64_t some_instant(uint64_t r)
{
	return (sim.now + (int64_t)(r % 60000) - 10000) / 500 * 500;
}

static void schedule_item(struct item *item, uint64_t r)
{
	int64_t start = some_instant(r);
	struct clockfix_spec spec = periodic(start, r / 64 % 3 ? 0 : 5000 + r % 40000, 0,
					     CLOCKFIX_MISSED_CATCH_UP);
	bool room = running ? count(true) < RESERVE : count(false) < MOST;

	spec.runs = spec.period ? r / 256 % 4 : 0;
	spec.fn = item_runs;
	spec.arg = item;
	if (item->pending)
		return;
	CHECK_EQ(clockfix_schedule(timer, &spec, &item->handle), room ? 0 : -ENOMEM);
	if (room)
		*item = (struct item){ item->handle, start, spec.period, spec.runs, spec.runs, 0,
				       ++submissions, true, running, false };
}

static void cancel_item(struct item *item)
{
	int ret = clockfix_cancel(timer, item->handle);

	CHECK_EQ(ret, item == running ? -EINPROGRESS : item->pending ? 0 : -ENOENT);
	if (item == running)
		item->cancelled = true;
	else
		item->pending = false;
}

static void reschedule_item(struct item *item, uint64_t r)
{
	int64_t instant = some_instant(r);
	int ret = clockfix_reschedule(timer, &item->handle, instant);

	if (running && ret == -ENOMEM) {
		CHECK_EQ(count(true), RESERVE);
		return;
	}
	CHECK_EQ(ret, item == running ? -EINPROGRESS : item->pending ? 0 : -ENOENT);
	if (ret)
		return;
	item->instant = instant;
	item->reserved = running;
	item->left = item->runs;
	item->index = 0;
	item->order = ++submissions;
}

static void any_operation(void)
{
	uint64_t r = check_random(&rng);
	struct item *item = &items[r % ITEMS];

	r /= ITEMS;
	if (r % 4 < 2)
		schedule_item(item, r / 4);
	else if (r % 4 == 2)
		cancel_item(item);
	else
		reschedule_item(item, r / 4);
}

/* The list is sorted, and what is in it is in the tree. */
static void list_is_sound(void)
{
	struct list *list = &timer->list;
	int64_t last = INT64_MIN;
	uint32_t linked = 0;

	for (uint32_t i = list->head; i != list->dummy; linked++) {
		struct slot *slot = slot_at(&timer->slots, i);

		CHECK(slot->instant >= last && slot->linked);
		last = slot->instant;
		i = atomic_load(&slot->next);
	}
	CHECK(tree_sound(&list->tree, linked));
}

/* Nothing is lost, early, out of order or run when cancelled, and all memory comes back. */
static void any_operations_match_the_model(void)
{
	struct clockfix_options options;

	clockfix_options_init(&options);
	options.max_jobs = MOST;
	options.job_reserve = RESERVE;
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
	teardown();
}

/* ---- adjusting -------------------------------------------------------------------------- */

static int64_t shift, new_period;
static int adjusted;

static void adjust_it(void *arg, const struct clockfix_run *run)
{
	job(arg, run);
	if (run->index == 1)
		adjusted = clockfix_adjust(run->timer, run->job, shift, new_period);
}

static void adjust_with(int64_t shift_by, int64_t period_to)
{
	struct clockfix_spec spec;
	int64_t t0;

	setup();
	shift = shift_by;
	new_period = period_to;
	t0 = sim.now + 1000000;
	spec = periodic(t0, 1000000, 5, 0);
	spec.fn = adjust_it;
	CHECK_EQ(clockfix_schedule(timer, &spec, NULL), 0);
	CHECK(sim_run(timer, 20));
	CHECK_EQ(adjusted, 0);
	CHECK_EQ(runs, 5);
	for (int i = 0; i < 5; i++) {
		int64_t period = i > 1 && period_to ? period_to : 1000000;
		int64_t after = i > 1 ? shift_by + (i - 1) * period : 0;

		CHECK_EQ(ran[i].run.index, i);
		CHECK_EQ(ran[i].run.instant, t0 + (i < 2 ? i : 1) * 1000000LL + after);
		CHECK_EQ(ran[i].run.job, ran[0].run.job);
	}
	teardown();
}

static void phase_and_period_are_disciplined(void)
{
	adjust_with(0, 0);
	adjust_with(12345, 0);
	adjust_with(-250000, 0);
	adjust_with(0, 1000100);
	adjust_with(777, 500000);
}

static void only_the_running_periodic_job_is_adjusted(void)
{
	struct clockfix_spec spec;
	clockfix_job handle;

	setup();
	spec = periodic(sim.now, 1000000, 3, 0);
	spec.fn = adjust_it;
	CHECK_EQ(clockfix_schedule(timer, &spec, &handle), 0);
	CHECK_EQ(clockfix_adjust(timer, handle, 1, 0), -EPERM);
	CHECK_EQ(clockfix_adjust(timer, 0, 1, 0), -EPERM);
	shift = INT64_MAX;
	CHECK(sim_run(timer, 20));
	CHECK_EQ(adjusted, -EINVAL);
	CHECK_EQ(runs, 3);
	teardown();
}

/* ---- a period shorter than a turn -------------------------------------------------------- */

static void a_tiny_period_that_skips_runs_all_the_same(void)
{
	for (int period = 1; period <= 10; period++) {
		struct clockfix_spec spec;

		setup();
		spec = periodic(sim.now, period, 0, CLOCKFIX_MISSED_SKIP);
		CHECK_EQ(clockfix_schedule(timer, &spec, NULL), 0);
		for (int i = 0; i < 100; i++)
			sim_turn(timer);
		CHECK(runs >= 49);
		CHECK(ran[runs - 1].run.missed > 0);
		teardown();
	}
}

CHECK_MAIN(TEST(any_operations_match_the_model), TEST(phase_and_period_are_disciplined),
	   TEST(only_the_running_periodic_job_is_adjusted),
	   TEST(a_tiny_period_that_skips_runs_all_the_same))
