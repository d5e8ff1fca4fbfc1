// SPDX-License-Identifier: LGPL-2.1-or-later
/* test-sleeper.c - what the caller of clockfix_sleep_until() sees; on the simulated machine */

#include <platform.h>

#include "check.h"
#include "clockfix.h"

static int64_t late_by(void)
{
	return 20000;
}

static void setup(struct clockfix_sleeper **sleeper)
{
	sim_reset();
	sim.oversleep = late_by;
	CHECK_EQ(clockfix_sleeper_create(sleeper, NULL), 0);
}

/* No bookkeeping between the instant and the return, and statistics that say what is seen. */
static void the_caller_sees_what_the_statistics_say(void)
{
	static struct clockfix_stats stats = { .size = sizeof(stats) };
	struct clockfix_sleeper *sleeper;
	int64_t sum = 0;

	setup(&sleeper);
	for (int i = 0; i < 1000; i++) {
		int64_t instant = clockfix_now(CLOCK_MONOTONIC) + 100000, late;

		CHECK_EQ(clockfix_sleep_until(sleeper, CLOCK_MONOTONIC, instant), 0);
		late = clockfix_now(CLOCK_MONOTONIC) - instant;
		sum += late;
		if (i > 10)
			CHECK(late <= 100);
	}
	CHECK_EQ(clockfix_sleeper_stats_read(sleeper, &stats), 0);
	CHECK_EQ(stats.jobs, 1000);
	printf("# seen %lld ns, statistics %lld ns\n", (long long)sum / 1000,
	       (long long)stats.lateness.sum / 1000);
	CHECK_EQ(stats.lateness.sum, sum);
	clockfix_sleeper_destroy(sleeper);
}

/* One call: the thread's own sleeper learns, too. */
static void a_thread_has_a_sleeper_of_its_own(void)
{
	int64_t instant, late = 0;

	sim_reset();
	sim.oversleep = late_by;
	for (int i = 0; i < 100; i++) {
		clockid_t clock = i % 2 ? CLOCK_TAI : CLOCK_MONOTONIC;

		instant = clockfix_now(clock) + 100000;
		CHECK_EQ(clockfix_sleep_until(NULL, clock, instant), 0);
		late = clockfix_now(clock) - instant;
		CHECK(late >= 0 && (i < 20 || late < 1000));
	}
	CHECK_EQ(clockfix_sleep_until(NULL, 99, 1), -EINVAL);
	CHECK_EQ(clockfix_sleep_until(NULL, CLOCK_MONOTONIC, -1), -EINVAL);
}

/* Other clocks than CLOCK_MONOTONIC: never early, also if they are set meanwhile. */
static int64_t step;

static void set_clock(int64_t until)
{
	sim.tai_offset += step;
	step = 0;
}

/* It ends when the clock shows the instant, earlier or later by CLOCK_MONOTONIC. */
static void a_clock_that_is_set_moves_the_end(void)
{
	static const struct {
		int64_t length, step;
	} cases[] = {
		{ 100000, 0 }, { 100000, -1000000 }, { 100000, 1000000 }, { 2000000, 900000 },
		{ 2000000, -5000000 }, { 2 * NSEC_PER_SEC, NSEC_PER_SEC },
	};
	struct clockfix_sleeper *sleeper;

	setup(&sleeper);
	for (int i = 0; i < 100; i++)
		clockfix_sleep_until(sleeper, CLOCK_TAI, clockfix_now(CLOCK_TAI) + 2000000);
	sim.sleeping = set_clock;
	for (int i = 0; i < 600; i++) {
		int64_t length = cases[i % 6].length, forward = cases[i % 6].step, begin, instant;

		instant = clockfix_now(CLOCK_TAI) + length;
		begin = sim.now;
		step = forward;
		CHECK_EQ(clockfix_sleep_until(sleeper, CLOCK_TAI, instant), 0);
		CHECK(clockfix_now(CLOCK_TAI) >= instant);
		if (i < 120 || forward > length)
			continue;
		CHECK(clockfix_now(CLOCK_TAI) - instant < 1000);
		/* if it did not sleep that is still to come */
		CHECK(llabs(sim.now - begin - (length - forward + step)) < 2000);
	}
	CHECK_EQ(clockfix_sleep_until(sleeper, 99, 1), -EINVAL);
	CHECK_EQ(clockfix_sleep_until(sleeper, CLOCK_TAI, -1), -EINVAL);
	clockfix_sleeper_destroy(sleeper);
}

/* It takes microseconds to read, and has an oscillator of its own. */
static void a_device_of_another_speed_is_met(void)
{
	static const int64_t lengths[] = { 100000, 1000000, 100000000, 10000000000 };
	struct clockfix_sleeper *sleeper;
	int64_t most = 0;

	setup(&sleeper);
	for (int i = 0; i < 400; i++) {
		int64_t instant, late;

		sim.device_rate = 1 + (i % 3 - 1) * 500e-6;
		instant = clockfix_now(SIM_DEVICE) + lengths[i / 100];
		CHECK_EQ(clockfix_sleep_until(sleeper, SIM_DEVICE, instant), 0);
		late = clockfix_now(SIM_DEVICE) - instant;
		CHECK(late >= 0);
		if (i % 100 > 20 && late > most)
			most = late;
	}
	printf("# at most %lld ns late, with a read of %lld ns\n", (long long)most,
	       (long long)sim.device_cost);
	/* two reads: the sleeper's last, the test's own */
	CHECK(most < 3 * sim.device_cost);
	clockfix_sleeper_destroy(sleeper);
}

static void remove_device(int64_t until)
{
	sim.device_rate = 0;
}

static void a_device_that_goes_away_is_an_error(void)
{
	struct clockfix_sleeper *sleeper;

	setup(&sleeper);
	sim.sleeping = remove_device;
	CHECK_EQ(clockfix_sleep_until(sleeper, SIM_DEVICE, sim.now + 1000000), -EINVAL);
	clockfix_sleeper_destroy(sleeper);
}

CHECK_MAIN(TEST(the_caller_sees_what_the_statistics_say), TEST(a_thread_has_a_sleeper_of_its_own),
	   TEST(a_clock_that_is_set_moves_the_end),
	   TEST(a_device_of_another_speed_is_met),
	   TEST(a_device_that_goes_away_is_an_error))
