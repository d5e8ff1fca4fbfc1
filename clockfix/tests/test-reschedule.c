// SPDX-License-Identifier: LGPL-2.1-or-later
/* test-reschedule.c - jobs moved, adjusted and cancelled; memory of cancelled jobs; simulated */
#include "sim/runs.h"

#define HOUR (3600 * NSEC_PER_SEC)

/* ---- memory ----------------------------------------------------------------------------- */

static void setup_small(void)
{
	struct clockfix_options options;

	clockfix_options_init(&options);
	options.max_jobs = 64;
	options.job_reserve = 16;
	setup_with(&options);
}

static clockfix_job hourly(void)
{
	struct clockfix_spec spec = periodic(sim.now, HOUR, 0, 0);
	clockfix_job handle = 0;

	CHECK_EQ(clockfix_schedule(timer, &spec, &handle), 0);
	return handle;
}

/* A cancelled job gives its memory back at once, not when its instant comes. */
static void cancelled_periodic_jobs_leave(void)
{
	setup_small();
	for (int i = 0; i < 1000 && !check_failed; i++) {
		clockfix_job handle = hourly();

		CHECK(sim_turn(timer));
		CHECK_EQ(clockfix_cancel(timer, handle), 0);
		CHECK_EQ(clockfix_cancel(timer, handle), -ENOENT);
	}
	CHECK_EQ(runs, 1000);
	teardown();
}

/* also if all of them are cancelled while the worker sleeps */
static void many_cancelled_at_once_leave(void)
{
	clockfix_job handles[64];

	setup_small();
	for (int round = 0; round < 50 && !check_failed; round++) {
		for (int i = 0; i < 64; i++)
			handles[i] = hourly();
		CHECK_EQ(clockfix_submit(timer, 0, job, NULL, NULL), -ENOMEM);
		for (int i = 0; i < 64; i++)
			CHECK(sim_turn(timer));
		for (int i = 0; i < 64; i++)
			CHECK_EQ(clockfix_cancel(timer, handles[i * 37 % 64]), 0);
	}
	CHECK_EQ(runs, 3200);
	teardown();
}

static clockfix_job watchdog;
static int barks, failures;

static void bark(void *arg, const struct clockfix_run *run)
{
	(void)arg;
	(void)run;
	barks++;
}

static void pet(void *arg, const struct clockfix_run *run)
{
	(void)arg;
	clockfix_cancel(run->timer, watchdog);
	failures += clockfix_submit(run->timer, run->instant + HOUR, bark, NULL, &watchdog) != 0;
}

static void a_job_arms_its_watchdog_again_and_again(void)
{
	struct clockfix_spec spec;

	setup_small();
	barks = failures = 0;
	spec = periodic(sim.now, 1000000, 5000, 0);
	spec.fn = pet;
	CHECK_EQ(clockfix_schedule(timer, &spec, NULL), 0);
	for (int i = 0; i < 5000; i++)
		sim_turn(timer);
	CHECK_EQ(failures, 0);
	CHECK_EQ(timer_pending(timer), 1);
	CHECK_EQ(barks, 0);
	CHECK(sim_run(timer, 10));
	CHECK_EQ(barks, 1);
	teardown();
}

/* A job cancels what a thread has submitted: submitters take it out of the list. */
static void cancel_it(void *arg, const struct clockfix_run *run)
{
	failures += clockfix_cancel(run->timer, *(clockfix_job *)arg) != 0;
}

static void a_job_cancels_a_threads_jobs(void)
{
	clockfix_job handle;

	setup_small();
	failures = 0;
	for (int i = 0; i < 1000 && !check_failed; i++) {
		handle = submit(sim.now + HOUR, 1);
		CHECK_EQ(clockfix_submit(timer, sim.now, cancel_it, &handle, NULL), 0);
		CHECK(sim_turn(timer));
	}
	CHECK_EQ(failures, 0);
	CHECK_EQ(runs, 0);
	CHECK_EQ(timer_pending(timer), 0);
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

CHECK_MAIN(TEST(cancelled_periodic_jobs_leave), TEST(many_cancelled_at_once_leave),
	   TEST(a_job_arms_its_watchdog_again_and_again), TEST(a_job_cancels_a_threads_jobs),
	   TEST(a_job_is_moved_to_and_fro), TEST(a_periodic_job_keeps_its_period),
	   TEST(a_job_reschedules_others_and_not_itself), TEST(phase_and_period_are_disciplined),
	   TEST(only_the_running_periodic_job_is_adjusted),
	   TEST(a_tiny_period_that_skips_runs_all_the_same))
