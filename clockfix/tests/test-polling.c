// SPDX-License-Identifier: LGPL-2.1-or-later
/* test-polling.c - the CPU's counter, and what polling may take; on an injected clock */
#include "sim/waiter.h"

/* ---- the counter ------------------------------------------------------------------------ */

static void the_counter_is_calibrated(void)
{
	setup_counter();
	CHECK(counter_hz(&waiter.counter) > 2499000000 && counter_hz(&waiter.counter) < 2501000000);
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

/* It is finer than the clock, and what the aim has to allow for is learned in a warm-up. */
static void the_counter_is_finer_than_the_clock_and_its_lead_soon_found(void)
{
	int64_t by_clock, first, then;

	setup_with(CLOCKFIX_SOURCE_CLOCK);
	mean_lateness(100);
	by_clock = mean_lateness(1000);
	setup_counter();
	mean_lateness(20);
	first = mean_lateness(80);
	mean_lateness(5000);
	then = mean_lateness(1000);
	printf("# mean lateness: %lld ns by the clock, %lld ns by the counter in jobs 20 to 100, "
	       "%lld ns in the end\n", (long long)by_clock, (long long)first, (long long)then);
	CHECK(first < by_clock);
	CHECK(first <= then + 4);
}

static void a_counter_that_is_wrong_is_given_up(void)
{
	setup_counter();
	for (int i = 0; i < 200 && waiter.use_counter; i++) {
		sim.counter_base -= 100000000;
		job(2000000);
	}
	CHECK(!waiter.use_counter);
	CHECK(stats.counter_faults > 0);
	CHECK(job(50000) <= 2 * sim.clock_cost);
}

static void a_counter_that_is_not_sound_is_refused(void)
{
	struct clockfix_options options;

	setup();
	clockfix_options_init(&options);
	options.source = CLOCKFIX_SOURCE_COUNTER;
	CHECK_EQ(waiter_init(&waiter, &options, &stats), -ENOTSUP);
	options.source = CLOCKFIX_SOURCE_AUTO;
	CHECK_EQ(waiter_init(&waiter, &options, &stats), 0);
	CHECK(!waiter.use_counter);
}

/* ---- punctuality and CPU time ----------------------------------------------------------- */

/* Late jobs in millionths, and CPU time: what the program would measure. */
static void run_with(uint32_t late, uint32_t cpu, int64_t *late_seen, int64_t *cpu_seen)
{
	int64_t begin = 0, slept = 0, lates = 0;

	late_ppm = late;
	cpu_ppm = cpu;
	setup_counter();
	late_ppm = cpu_ppm = 0;
	sim.sleep_cost = 8000;
	for (int i = 0; i < 40000; i++) {
		int64_t was_late;

		if (i == 10000) {
			begin = sim.now;
			slept = sim.slept;
		}
		next_oversleep = 10000 + check_random(&rng) % 10000;
		if (!(check_random(&rng) % 20))
			next_oversleep += check_random(&rng) % 50000;
		was_late = job(100000);
		lates += i >= 10000 && was_late > 1000;
	}
	*late_seen = lates * 1000000 / 30000;
	*cpu_seen = (sim.now - begin - sim.slept + slept) * 1000000 / (sim.now - begin);
}

static void told_one_the_other_is_found_and_both_are_reported(void)
{
	static const struct {
		uint32_t late, cpu;
		enum clockfix_limit limit;
	} wanted[] = {
		{ 50000, 0, CLOCKFIX_LIMIT_NONE }, { 10000, 0, CLOCKFIX_LIMIT_NONE },
		{ 2000, 0, CLOCKFIX_LIMIT_NONE }, { 1000, 0, CLOCKFIX_LIMIT_NONE }, { 0, 150000, CLOCKFIX_LIMIT_NONE },
		{ 0, 300000, CLOCKFIX_LIMIT_NONE }, { 2000, 150000, CLOCKFIX_LIMIT_BUDGET },
		{ 2000, 50000, CLOCKFIX_LIMIT_SLEEPING },
		{ 50000, 900000, CLOCKFIX_LIMIT_NONE },
	};
	int64_t late, cpu;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		run_with(wanted[i].late, wanted[i].cpu, &late, &cpu);
		printf("# %u ppm late, %u ppm of a CPU: %lld and %lld, reported %lld and %lld\n",
		       wanted[i].late, wanted[i].cpu, (long long)late, (long long)cpu,
		       (long long)stats.late_ppm, (long long)stats.cpu_ppm);
		if (wanted[i].late && !wanted[i].limit)
			CHECK(late < wanted[i].late * 3 / 2 && late > wanted[i].late / 2);
		if (wanted[i].cpu && wanted[i].limit != CLOCKFIX_LIMIT_SLEEPING)
			CHECK(cpu < wanted[i].cpu * 11 / 10);
		if (wanted[i].cpu && !wanted[i].late)
			CHECK(cpu > wanted[i].cpu * 8 / 10);
		/* of the last jobs, while the others are of all */
		CHECK(stats.cpu_ppm > cpu * 7 / 10 && stats.cpu_ppm < cpu * 13 / 10);
		if (wanted[i].late && wanted[i].limit)
			CHECK_EQ(stats.limit, wanted[i].limit);
	}
}

CHECK_MAIN(TEST(the_counter_is_calibrated),
	   TEST(the_counter_is_finer_than_the_clock_and_its_lead_soon_found),
	   TEST(a_counter_that_is_wrong_is_given_up), TEST(a_counter_that_is_not_sound_is_refused),
	   TEST(told_one_the_other_is_found_and_both_are_reported))
