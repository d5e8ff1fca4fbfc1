// SPDX-License-Identifier: LGPL-2.1-or-later
/* test-clock.c - jobs by another clock, which is set, runs at another speed, or goes; simulated */
#include "sim/runs.h"

static int64_t step;

static void set_clock(int64_t until)
{
	sim.tai_offset += step;
	step = 0;
}

static void setup_by(clockid_t clock)
{
	struct clockfix_options options;

	clockfix_options_init(&options);
	options.clock = clock;
	setup_with(&options);
}

/* Jobs in their order by CLOCK_TAI, none early by it, whatever it does while the worker sleeps. */
static void jobs_run_by_a_clock_that_is_set(void)
{
	static const int64_t steps[] = { 0, 900000, -5000000, -NSEC_PER_SEC };

	for (int i = 0; i < 4; i++) {
		int64_t t0;

		setup_by(CLOCK_TAI);
		t0 = clockfix_now(CLOCK_TAI);
		sim.sleeping = set_clock;
		for (int k = 1; k <= 40; k++) {
			submit(t0 + k * 2000000, k);
			submit(t0 + k * 2000000 - 1000000, 100 + k);
		}
		step = steps[i];
		while (timer_pending(timer))
			sim_turn(timer);
		CHECK_EQ(runs, 80);
		for (unsigned int k = 0; k < runs; k++) {
			int64_t by = ran[k].run.instant + (steps[i] > 0 && !k ? steps[i] : 0);

			CHECK_EQ(ran[k].run.instant, t0 + (k + 1) * 1000000);
			CHECK(ran[k].run.started >= ran[k].run.instant);
			/* the first sleep ends as late as nobody could know */
			if (k)
				CHECK(ran[k].run.started - by < 1000);
		}
		CHECK(stats().lateness.max < 1000000);
		teardown();
	}
}

static void a_step_forward_is_seen_within_100_ms(void)
{
	setup_by(CLOCK_TAI);
	submit(clockfix_now(CLOCK_TAI) + 10 * NSEC_PER_SEC, 1);
	sim.sleeping = set_clock;
	step = 10 * NSEC_PER_SEC - 1;
	CHECK(sim_run(timer, 10));
	CHECK(stats().lateness.max > 50000000 && stats().lateness.max < 110000000);
	teardown();
}

/* that sleeps of that length end later than they do */
static void teach(int64_t length)
{
	for (int i = 0; i < 100; i++)
		estimator_learn(&timer->waiter.est, 20000, length);
}

static int64_t set_at;	/* by CLOCK_MONOTONIC */

static void set_in_poll(void)
{
	if (sim.now < set_at)
		return;
	sim.reading = NULL;
	set_clock(0);
}

static void a_clock_that_is_set_back_at_the_last_moment_is_believed(void)
{
	for (int64_t back = 1000; back <= NSEC_PER_SEC; back *= 1000) {
		setup_by(CLOCK_TAI);
		teach(50000000);
		submit(clockfix_now(CLOCK_TAI) + 50000000, 1);
		set_at = sim.now + 50000000 - 1000;
		step = -back;
		sim.reading = set_in_poll;
		CHECK(sim_run(timer, 100));
		CHECK_EQ(step, 0);
		CHECK(ran[0].now + sim.tai_offset >= ran[0].run.instant);
		CHECK(ran[0].run.started >= ran[0].run.instant);
		teardown();
	}
}

static clockfix_job to_cancel;

static void cancel_in_poll(void)
{
	if (sim.now < set_at || !to_cancel)
		return;
	worker_set_self(NULL);
	CHECK_EQ(clockfix_cancel(timer, to_cancel), 0);
	worker_set_self(timer);
	to_cancel = 0;
}

/* A device may be off by 100 us after a sleep of 100 ms: too much to claim a job. */
static void a_device_is_looked_at_again_before_a_job_is_claimed(void)
{
	setup_by(SIM_DEVICE);
	teach(90000000);
	to_cancel = submit(clockfix_now(SIM_DEVICE) + 90000000, 1);
	set_at = sim.now + 90000000 - 70000;
	sim.reading = cancel_in_poll;
	CHECK(sim_run(timer, 100));
	CHECK_EQ(to_cancel, 0);
	CHECK_EQ(runs, 0);
	teardown();
}

/* also when the worker sleeps for what is no longer the earliest */
static void an_earlier_job_wakes(void)
{
	setup_by(CLOCK_TAI);
	wake_notify(&timer->wake, INT64_MIN);
	sim.woken = false;
	atomic_store(&timer->wake.sleeping, 1);
	submit(clockfix_now(CLOCK_TAI) + NSEC_PER_SEC, 1);
	CHECK(sim.woken);
	teardown();
}

static void a_device_of_another_speed_is_met(void)
{
	static const int64_t periods[] = { 200000, 1000000, 150000000, 3 * NSEC_PER_SEC };
	int64_t most = 0;

	for (int i = 0; i < 12; i++) {
		struct clockfix_spec spec;

		setup_by(SIM_DEVICE);
		sim.device_rate = 1 + (i % 3 - 1) * 500e-6;
		spec = periodic(clockfix_now(SIM_DEVICE) + 1000000, periods[i / 3], 100, 0);
		CHECK_EQ(clockfix_schedule(timer, &spec, NULL), -EINVAL);
		spec.clock = SIM_DEVICE;
		CHECK_EQ(clockfix_schedule(timer, &spec, NULL), 0);
		CHECK(sim_run(timer, 100000));
		CHECK(runs > 95);
		for (unsigned int k = 10; k < runs; k++) {
			int64_t late = ran[k].now * sim.device_rate - ran[k].run.instant;

			CHECK(late >= 0);
			most = late > most ? late : most;
		}
		teardown();
	}
	printf("# at most %lld ns late, with a read of %lld ns\n", (long long)most,
	       (long long)sim.device_cost);
	CHECK(most < 2 * sim.device_cost);
}

static void a_device_that_goes_away_does_not_keep_a_timer(void)
{
	setup_by(SIM_DEVICE);
	submit(clockfix_now(SIM_DEVICE) + 1000000, 1);
	sim.device_rate = 0;
	for (int i = 0; i < 100; i++)
		CHECK(sim_turn(timer));
	CHECK_EQ(runs, 0);
	CHECK_EQ(stats().pending, 1);
	atomic_store(&timer->dead, true);
	CHECK(sim_turn(timer));
	CHECK(!sim_turn(timer));
	teardown();
}

static void what_is_no_clock_is_refused(void)
{
	static const clockid_t none[] = { 99, CLOCK_THREAD_CPUTIME_ID, -1, -13 };
	struct clockfix_sleeper *sleeper;
	struct clockfix_options options;

	clockfix_options_init(&options);
	for (int i = 0; i < 4; i++) {
		options.clock = none[i];
		CHECK_EQ(timer_new(&timer, &options), -EINVAL);
	}
	options.clock = CLOCK_TAI;
	CHECK_EQ(clockfix_sleeper_create(&sleeper, &options), -EINVAL);
	CHECK_EQ(timer_new(&timer, &options), 0);
	CHECK_EQ(clockfix_clock(timer), CLOCK_TAI);
	sim_timer_free(timer);
}

CHECK_MAIN(TEST(jobs_run_by_a_clock_that_is_set), TEST(a_step_forward_is_seen_within_100_ms),
	   TEST(a_clock_that_is_set_back_at_the_last_moment_is_believed),
	   TEST(a_device_is_looked_at_again_before_a_job_is_claimed),
	   TEST(an_earlier_job_wakes), TEST(a_device_of_another_speed_is_met),
	   TEST(a_device_that_goes_away_does_not_keep_a_timer), TEST(what_is_no_clock_is_refused))
