// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * test-wait.c - every branch of the paper's section IV, on an injected clock
 *
 * A series of jobs is waited for; the oversleep of each sleep is injected.
 */
#include "sim/waiter.h"

static void a_past_instant_comes_at_once(void)
{
	int64_t now;

	setup();
	now = sim.now;
	CHECK_EQ(arrive_at(now - 5000), 0);
	CHECK(sim.now - now <= 3 * sim.clock_cost);
	CHECK_EQ(sim.sleeps, 0);
}

/* [IV.a] the sleep is shortened by the oversleep predicted, and by the cost of learning [IV.b] */
static void sleep_is_shortened_by_prediction_and_cost(void)
{
	int64_t instant;

	setup();
	instant = sim.now + 100000;
	CHECK_EQ(arrive_at(instant), 0);
	CHECK_EQ(sim.last_until, instant - cost());
	waiter_ran(&waiter, instant);

	setup();
	teach(20000);
	instant = sim.now + 100000;
	CHECK_EQ(arrive_at(instant), 0);
	/* a margin covers what is seen by less than a sixteenth */
	CHECK(instant - sim.last_until >= 20000 + 200 && instant - sim.last_until < 21250 + 250);
}

/* the early wake-up is compensated by polling: never early [IV.d] */
static void an_overestimate_is_polled(void)
{
	int64_t polled;

	setup();
	teach(20000);
	next_oversleep = 1000;
	polled = stats.polled;
	CHECK(job(100000) <= 2 * sim.clock_cost);
	CHECK(stats.polled - polled > 18000);
	CHECK(stats.polled - polled < 20000);
}

static void an_underestimate_is_late_and_learned(void)
{
	setup();
	next_oversleep = 20000;
	job(100000);
	next_oversleep = 50000;
	CHECK(job(100000) > 29000);
	CHECK(job(100000) <= 2 * sim.clock_cost);
	CHECK(waiter.est.prediction >= 50000 + CLOCK && waiter.est.prediction < 53125);
	CHECK_EQ(stats.late, 2);
}

/* [IV.c] learning happens between wake-up and job, unless less than twice its cost is left */
static void learning_is_deferred_if_time_is_short(void)
{
	setup();
	teach(20000);
	next_oversleep = 25000;
	CHECK_EQ(arrive_at(sim.now + 100000), 0);
	/* slept too long: nothing learned yet */
	CHECK(waiter.deferred);
	CHECK_EQ(waiter.est.regime[1].total, 100);
	waiter_ran(&waiter, sim.now);
	CHECK_EQ(waiter.est.regime[1].total, 101);
	CHECK(!waiter.deferred);

	/* on either side of the limit */
	for (int64_t early = 100; early < 300; early++) {
		int64_t instant, before;

		setup();
		teach(20000);
		before = cost();
		next_oversleep = 20000 - early;
		instant = sim.now + 100000;
		CHECK_EQ(arrive_at(instant), 0);
		CHECK_EQ(waiter.deferred,
			 instant - (sim.last_until + next_oversleep + CLOCK) < 2 * before);
	}
}

/* A deferred value is not lost if the wait is given up for another job. */
static void deferred_learning_survives_a_change(void)
{
	setup();
	next_oversleep = 20000;
	CHECK_EQ(waiter_approach(&waiter, sim.now + 100000, &wake, wake.count), 0);
	CHECK(waiter.deferred);
	CHECK_EQ(arrive_at(sim.now - 10), 0);
	waiter_ran(&waiter, sim.now);
	CHECK(estimator_predict(&waiter.est, 100000, INT64_MAX) >= 20000 + CLOCK);
}

static int64_t learning_takes;

static void take_time(void)
{
	sim.now += learning_takes;
}

/* [IV.b] an exponential moving average of what learning takes */
static void learning_cost_is_an_ema(void)
{
	setup();
	CHECK_EQ(cost(), 200);
	next_oversleep = 10000;
	for (int i = 0; i < 200; i++)
		job(200000);
	CHECK_EQ(cost(), sim.clock_cost);
	/* each read of the clock takes a microsecond more now: 1/8 of the difference each time, of */
	/* which no more than the cost so far and 200 ns counts */
	sim.reading = take_time;
	learning_takes = 1000;
	job(200000);
	CHECK(cost() > sim.clock_cost && cost() <= sim.clock_cost + (sim.clock_cost + 200) / 8 + 1);
	for (int i = 0; i < 200; i++)
		job(200000);
	CHECK(cost() > 1000 && cost() <= 1025);
}

static void sleeps_of_no_length_are_not_begun(void)
{
	setup();
	job(4900);
	CHECK_EQ(sim.sleeps, 0);
	job(6000);
	CHECK_EQ(sim.sleeps, 1);
}

static int64_t news;

static void notify(int64_t until)
{
	wake_notify(&wake, news);
}

/* The worker sleeps for an instant: what comes later can wait until then. */
static void only_what_is_earlier_wakes(void)
{
	int64_t instant, begin;

	setup();
	sim.sleeping = notify;
	instant = sim.now + 100000;
	news = instant;
	CHECK_EQ(arrive_at(instant), WAIT_CHANGED);
	CHECK(!sim.woken);
	CHECK(sim.now >= instant - 1000 && sim.now < instant);

	instant = sim.now + 100000;
	news = instant - 1;
	CHECK_EQ(arrive_at(instant), WAIT_CHANGED);
	CHECK(sim.woken);

	/* the job was cancelled, nothing is left: what comes after it need not wake, before it must */
	begin = sim.now;
	news = instant = begin + 10000000;
	sim.sleeping = NULL;
	CHECK_EQ(waiter_approach(&waiter, instant, &wake, wake.count), 0);
	sim.now = begin;
	sim.sleeping = notify;
	wake_wait(&wake, wake.count);
	CHECK(!sim.woken);
	/* it is back in time for what is to be done then */
	CHECK(sim.now < instant - 900000);
	/* and from then on whatever comes is earlier */
	news = INT64_MAX - 1;
	wake_wait(&wake, wake.count);
	CHECK(sim.woken);
	CHECK_EQ(sim.last_until, INT64_MAX);
}

static int64_t change_at;

static void change(void)
{
	if (sim.now >= change_at)
		atomic_fetch_add(&wake.count, change_at > 0);
}

static void polled_change(int64_t before)
{
	int64_t instant;

	teach(50000);
	next_oversleep = 0;
	instant = sim.now + 200000;
	change_at = instant - before;
	sim.reading = change;
	CHECK_EQ(arrive_at(instant), WAIT_CHANGED);
	CHECK(sim.now < instant);
	CHECK(sim.now - change_at <= 6500);
	sim.reading = NULL;
}

static void a_change_ends_polling(void)
{
	setup();
	polled_change(20000);
	polled_change(500);
}

static void a_signal_ends_the_sleep_of_a_thread(void)
{
	setup();
	sim.interrupt = 1;
	CHECK_EQ(waiter_approach(&waiter, sim.now + 100000, NULL, 0), -EINTR);
	CHECK_EQ(waiter_approach(&waiter, sim.now + 100000, NULL, 0), 0);
}

/* One of four sleeps ends 3 ms late: whoever has the CPU then does not leave it for polling. */
static void busy_jobs(int count)
{
	for (int i = 0; i < count; i++) {
		next_oversleep = i % 4 ? 20000 : 3000000;
		job(10000000);
	}
}

static void polling_that_does_not_help_is_given_up(void)
{
	setup();
	busy_jobs(4);
	CHECK_EQ(stats.stopped, 0);
	for (uint64_t tries = 1; tries <= 3; tries++) {
		for (int i = 0; i < 100 && stats.stopped < tries; i++)
			busy_jobs(4);
		CHECK_EQ(stats.stopped, tries);
		/* for 1,000 jobs, of which some may have been by then */
		busy_jobs(992);
		next_oversleep = 20000;
		CHECK(job(10000000) >= 20000);
		for (int i = 0; i < 8; i++)
			job(10000000);
		CHECK(job(10000000) < 1000);
	}
	/* a processor of one's own again */
	next_oversleep = 20000;
	for (int i = 0; i < 3000; i++)
		job(10000000);
	CHECK(stats.stopped <= 4);
	CHECK(job(10000000) < 100);

	setup();
	sim.realtime = true;
	busy_jobs(1000);
	CHECK_EQ(stats.stopped, 0);
	estimator = CLOCKFIX_ESTIMATOR_MAXIMUM;
	setup();
	estimator = 0;
	busy_jobs(1000);
	CHECK_EQ(stats.stopped, 0);
}

/* ---- properties ------------------------------------------------------------------------- */

/* Random oversleeps with outliers, random lengths: never early. */
static void never_early_and_always_awake(void)
{
	setup();
	for (int i = 0; i < 10000; i++) {
		uint64_t r = check_random(&rng);

		next_oversleep = r % 100 ? r / 100 % 30000 : r / 100 % 20000000;
		CHECK(job((int64_t)(r / 3 % 400000) - 1000) < next_oversleep + 2000);
	}
	CHECK(sim.sleeps > 2000);
	CHECK_EQ(stats.jobs, 10000);
	CHECK_EQ(stats.lateness.count, 10000);
}

CHECK_MAIN(TEST(a_past_instant_comes_at_once), TEST(sleep_is_shortened_by_prediction_and_cost),
	   TEST(an_overestimate_is_polled), TEST(an_underestimate_is_late_and_learned),
	   TEST(learning_is_deferred_if_time_is_short),
	   TEST(deferred_learning_survives_a_change), TEST(learning_cost_is_an_ema),
	   TEST(sleeps_of_no_length_are_not_begun), TEST(only_what_is_earlier_wakes),
	   TEST(a_change_ends_polling),
	   TEST(a_signal_ends_the_sleep_of_a_thread), TEST(polling_that_does_not_help_is_given_up),
	   TEST(never_early_and_always_awake))
