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
	bool pending, reserved, cancelled;
};

static struct item items[ITEMS], *running;
static uint64_t rng;

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
	CHECK(run->started >= run->instant);
	for (int i = 0; i < ITEMS; i++)
		CHECK(!items[i].pending || items[i].instant >= item->instant);
	running = item;
	for (uint64_t n = check_random(&rng) % 4; n; n--)
		any_operation();
	running = NULL;
	item->instant += item->period;
	item->pending = item->period && !item->cancelled && item->left != 1;
	item->left -= item->left > 0;
}

static void schedule_item(struct item *item, uint64_t r)
{
	int64_t start = sim.now + (int64_t)(r % 60000) - 10000;
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
		*item = (struct item){ item->handle, start, spec.period, spec.runs, spec.runs, true,
				       running, false };
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
	int64_t instant = sim.now + (int64_t)(r % 60000) - 10000;
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
	}
	CHECK(stats().jobs > 10000);
	teardown();
}

/* ---- rescheduling ----------------------------------------------------------------------- */

static void a_job_is_moved_to_and_fro(void)
{
	clockfix_job moved, other;
	int64_t t0;

	setup();
	t0 = sim.now;
	moved = submit(t0 + 1000000, 1);
	other = submit(t0 + 2000000, 2);
	(void)other;
	CHECK_EQ(clockfix_reschedule(timer, &moved, t0 + 3000000), 0);
	CHECK_EQ(timer_pending(timer), 2);
	CHECK_EQ(clockfix_reschedule(timer, &moved, t0 + 500000), 0);
	CHECK_EQ(clockfix_reschedule(timer, &moved, t0 + 4000000), 0);
	CHECK(sim_run(timer, 10));
	CHECK_EQ(runs, 2);
	CHECK_EQ(ran[0].who, 2);
	CHECK_EQ(ran[1].who, 1);
	CHECK_EQ(ran[1].run.instant, t0 + 4000000);
	CHECK_EQ(clockfix_reschedule(timer, &moved, t0 + 9000000), -ENOENT);
	CHECK_EQ(clockfix_reschedule(timer, &moved, -1), -EINVAL);
	CHECK_EQ(clockfix_reschedule(timer, NULL, 1), -EINVAL);
	moved = 0;
	CHECK_EQ(clockfix_reschedule(timer, &moved, t0 + 9000000), -ENOENT);
	CHECK_EQ(timer_pending(timer), 0);
	teardown();
}

static void a_periodic_job_keeps_its_period(void)
{
	struct clockfix_spec spec;
	clockfix_job handle;
	int64_t t0;

	setup();
	t0 = sim.now;
	spec = periodic(t0, 1000000, 3, 0);
	CHECK_EQ(clockfix_schedule(timer, &spec, &handle), 0);
	CHECK(sim_turn(timer));
	CHECK_EQ(clockfix_reschedule(timer, &handle, t0 + 5500000), 0);
	CHECK(sim_run(timer, 10));
	CHECK_EQ(runs, 4);
	CHECK_EQ(ran[1].run.instant, t0 + 5500000);
	CHECK_EQ(ran[1].run.index, 0);
	CHECK_EQ(ran[3].run.instant, t0 + 7500000);
	CHECK_EQ(ran[3].run.index, 2);
	teardown();
}

static clockfix_job target;
static int64_t target_instant;
static int target_ret;

static void reschedule_it(void *arg, const struct clockfix_run *run)
{
	(void)arg;
	target_ret = clockfix_reschedule(run->timer, &target, target_instant);
}

static void a_job_reschedules_others_and_not_itself(void)
{
	int64_t t0;

	setup();
	t0 = sim.now;
	target = submit(t0 + 1000000, 1);
	target_instant = t0 + 2000000;
	CHECK_EQ(clockfix_submit(timer, t0, reschedule_it, NULL, NULL), 0);
	CHECK(sim_run(timer, 10));
	CHECK_EQ(target_ret, 0);
	CHECK_EQ(runs, 1);
	CHECK_EQ(ran[0].run.instant, t0 + 2000000);
	/* itself, as it is running */
	CHECK_EQ(clockfix_submit(timer, sim.now, reschedule_it, NULL, &target), 0);
	CHECK(sim_run(timer, 10));
	CHECK_EQ(target_ret, -EINPROGRESS);
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

CHECK_MAIN(TEST(any_operations_match_the_model), TEST(a_job_is_moved_to_and_fro),
	   TEST(a_periodic_job_keeps_its_period), TEST(a_job_reschedules_others_and_not_itself),
	   TEST(phase_and_period_are_disciplined), TEST(only_the_running_periodic_job_is_adjusted),
	   TEST(a_tiny_period_that_skips_runs_all_the_same))
