// SPDX-License-Identifier: LGPL-2.1-or-later
/* test-polling.c - the CPU's counter, low power and the limit on polling, on an injected clock */
#include "sim/waiter.h"

/* ---- the counter ------------------------------------------------------------------------ */

static void the_counter_is_calibrated(void)
{
	setup_counter(CLOCKFIX_ESTIMATOR_MAX);
	CHECK(counter_hz(&waiter.counter) > 2499000000 && counter_hz(&waiter.counter) < 2501000000);
}

static int64_t lateness_of_many(int source)
{
	struct clockfix_options options;
	int64_t late = 0;

	setup(CLOCKFIX_ESTIMATOR_FIXED);
	sim.has_counter = true;
	clockfix_options_init(&options);
	options.estimator = CLOCKFIX_ESTIMATOR_FIXED;
	options.fixed_margin = 5000;
	options.source = source;
	CHECK_EQ(waiter_init(&waiter, &options, &stats), 0);
	for (int i = 0; i < 1000; i++) {
		next_oversleep = 3000 + check_random(&rng) % 1000;
		late += job(50000);
	}
	return late;
}

static void the_counter_is_finer_than_the_clock(void)
{
	int64_t by_clock = lateness_of_many(CLOCKFIX_SOURCE_CLOCK);
	int64_t by_counter = lateness_of_many(CLOCKFIX_SOURCE_COUNTER);

	printf("# mean lateness: %lld ns by the clock, %lld ns by the counter\n",
	       (long long)by_clock / 1000, (long long)by_counter / 1000);
	CHECK(by_counter < by_clock);
}

static int64_t mean_lateness(int jobs)
{
	int64_t late = 0;

	for (int i = 0; i < jobs; i++) {
		next_oversleep = 3000 + check_random(&rng) % 1000;
		late += job(50000);
	}
	return late / jobs;
}

/* what the aim has to allow for is learned within the jobs of a warm-up */
static void the_lead_is_soon_found(void)
{
	int64_t first, then;

	setup_counter(CLOCKFIX_ESTIMATOR_MAX);
	mean_lateness(20);
	first = mean_lateness(80);
	mean_lateness(5000);
	then = mean_lateness(1000);
	printf("# mean lateness: %lld ns in jobs 20 to 100, %lld ns in the end\n",
	       (long long)first, (long long)then);
	CHECK(first <= then + 4);
}

/* The clock is slewed, at times by as much as the kernel ever does. */
static void never_early_whatever_the_clock_does(void)
{
	setup_counter(CLOCKFIX_ESTIMATOR_DEFAULT);
	for (int i = 0; i < 20000; i++) {
		uint64_t r = check_random(&rng);
		double rate = 2.5 * (0.9 + 0.2 * (r % 1000) / 1000);

		next_oversleep = 5000 + r / 7 % 20000;
		if (!(r / 11 % 10)) {
			/* change the speed, not the value */
			sim.counter_base += (int64_t)(sim.now * sim.counter_rate) -
					    (int64_t)(sim.now * rate);
			sim.counter_rate = rate;
		}
		CHECK(job(r / 13 % 300000) < 30000);
	}
}

/* A virtual machine that migrates: the counter goes on from anywhere. */
static void a_counter_that_jumps_is_survived(void)
{
	setup_counter(CLOCKFIX_ESTIMATOR_DEFAULT);
	for (int i = 0; i < 2000; i++) {
		uint64_t r = check_random(&rng);

		next_oversleep = 5000 + r % 1000;
		if (!(r % 10))
			sim.counter_base += (int64_t)(check_random(&rng) % 2000000000) - 1000000000;
		CHECK(job(50000 + r / 17 % 100000) < 30000);
	}
	CHECK(stats.counter_faults > 0);
}

static void a_counter_that_is_wrong_is_given_up(void)
{
	setup_counter(CLOCKFIX_ESTIMATOR_DEFAULT);
	for (int i = 0; i < 200 && waiter.use_counter; i++) {
		sim.counter_base -= 100000000;
		job(2000000);
	}
	CHECK(!waiter.use_counter);
	CHECK(job(50000) <= 2 * sim.clock_cost);
}

static void a_counter_that_is_not_sound_is_refused(void)
{
	struct clockfix_options options;

	setup(CLOCKFIX_ESTIMATOR_MAX);
	clockfix_options_init(&options);
	options.source = CLOCKFIX_SOURCE_COUNTER;
	CHECK_EQ(waiter_init(&waiter, &options, &stats), -ENOTSUP);
	options.source = CLOCKFIX_SOURCE_AUTO;
	CHECK_EQ(waiter_init(&waiter, &options, &stats), 0);
	CHECK(!waiter.use_counter);
}

/* ---- low power -------------------------------------------------------------------------- */

static void low_power_is_used_and_left_in_time(void)
{
	struct clockfix_options options;

	setup(CLOCKFIX_ESTIMATOR_FIXED);
	sim.has_counter = true;
	sim.has_low_power = true;
	clockfix_options_init(&options);
	options.estimator = CLOCKFIX_ESTIMATOR_FIXED;
	options.fixed_margin = 50000;
	CHECK_EQ(waiter_init(&waiter, &options, &stats), 0);
	CHECK(waiter.low_power);
	for (int i = 0; i < 100; i++)
		CHECK(job(100000) < 60);
	CHECK(sim.low_power_waits > 100);
	CHECK_EQ(stats.low_power_late, 0);
	/* a CPU that needs 4 us to come back: noticed, and allowed for */
	sim.low_power_late = 4000;
	for (int i = 0; i < 20; i++)
		job(100000);
	CHECK(stats.low_power_late > 0 && stats.low_power_late < 10);
	for (int i = 0; i < 100; i++)
		CHECK(job(100000) < 60);
	/* not wanted */
	options.flags = CLOCKFIX_NO_LOW_POWER;
	CHECK_EQ(waiter_init(&waiter, &options, &stats), 0);
	CHECK(!waiter.low_power);
}

/* ---- the limit on polling --------------------------------------------------------------- */

static double poll_share(uint32_t limit, int64_t interval)
{
	struct clockfix_options options;
	int64_t begin, polled;

	setup(CLOCKFIX_ESTIMATOR_FIXED);
	clockfix_options_init(&options);
	options.estimator = CLOCKFIX_ESTIMATOR_FIXED;
	options.fixed_margin = 80000;
	options.poll_share = limit;
	CHECK_EQ(waiter_init(&waiter, &options, &stats), 0);
	for (int i = 0; i < 20000; i++)
		job(interval);
	begin = sim.now;
	polled = stats.polled;
	for (int i = 0; i < 20000; i++)
		job(interval);
	return (double)(stats.polled - polled) / (sim.now - begin);
}

static void polling_is_limited(void)
{
	double free = poll_share(100, 100000), ten = poll_share(10, 100000);
	double tight = poll_share(10, 20000);

	printf("# polling 80 us of each 100: %.3f; limited to 10 %%: %.3f; 20 us apart: %.3f\n",
	       free, ten, tight);
	CHECK(free > 0.75);
	CHECK(ten < 0.11 && ten > 0.08);
	CHECK(tight < 0.12);
	CHECK(stats.throttled > 0);
}

CHECK_MAIN(TEST(the_counter_is_calibrated), TEST(the_counter_is_finer_than_the_clock),
	   TEST(the_lead_is_soon_found),
	   TEST(never_early_whatever_the_clock_does), TEST(a_counter_that_jumps_is_survived),
	   TEST(a_counter_that_is_wrong_is_given_up),
	   TEST(a_counter_that_is_not_sound_is_refused),
	   TEST(low_power_is_used_and_left_in_time), TEST(polling_is_limited))
