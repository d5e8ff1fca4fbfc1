// SPDX-License-Identifier: LGPL-2.1-or-later
/* test-estimator.c - what the estimator predicts */

#include "check.h"
#include "estimator.h"

#define LENGTH	100000	/* ns: a length of sleep */
#define MOST	INT64_MAX

static struct estimator est;
static uint64_t rng;

static void setup_with(uint32_t late_ppm, int estimator)
{
	struct clockfix_options options;

	clockfix_options_init(&options);
	options.late_ppm = late_ppm;
	options.estimator = estimator;
	estimator_init(&est, &options);
	rng = 7;
}

static void setup(void)
{
	setup_with(0, 0);
}

static void learn(int64_t oversleep)
{
	estimator_learn(&est, oversleep, LENGTH);
}

/* of the histogram's bucket that a value is in, to a sixteenth */
static bool covers(int64_t margin, int64_t value)
{
	return margin >= value && margin < value + value / 16;
}

static int64_t predict(void)
{
	return estimator_predict(&est, LENGTH, MOST);
}

static void learn_some(int count, int64_t value)
{
	for (int i = 0; i < count; i++) {
		predict();
		learn(value + i * 37 % 100);
	}
}

static void an_outlier_does_not_move_it(void)
{
	int64_t before;

	setup();
	learn_some(300, 10000);
	before = predict();
	learn(5000000);
	CHECK(predict() - before < before / 3);
	learn_some(10, 10000);
	CHECK(predict() - before < before / 10);
}

/* most alike, some much longer */
static int64_t independent(void)
{
	int64_t value = 10000 + check_random(&rng) % 10000;

	if (!(check_random(&rng) % 50))
		value += check_random(&rng) % 50000;
	return value;
}

/* the share of values above the prediction, for independent values of one distribution */
static double share_above(int64_t length)
{
	int above = 0;

	setup();
	for (int i = 0; i < 50000; i++) {
		int64_t value = independent();
		int64_t margin = estimator_predict(&est, length, MOST);

		if (i >= 2000)
			above += value > margin;
		estimator_learn(&est, value, length);
	}
	return above / 48000.0;
}

static void longer_sleeps_are_more_punctual_by_default(void)
{
	double usual = share_above(LENGTH), longer = share_above(4000000);
	double longest = share_above(10000000);

	printf("# late: %.2f %%, at 4 ms %.2f %%, at 10 ms %.2f %%\n", 100 * usual, 100 * longer,
	       100 * longest);
	CHECK(usual > 0.010 && usual < 0.020);
	CHECK(longer < 0.5 * usual);
	CHECK(longest < 0.75 * longer);
}

/* Next to busy processes a third of all sleeps ends milliseconds late. */
static void what_costs_too_much_is_not_tried(void)
{
	for (int64_t length = 1000000; length <= 10000000; length *= 10) {
		setup();
		for (int i = 0; i < 2000; i++) {
			int64_t value = i % 3 ? 60000 : 3000000 + check_random(&rng) % 1000000;
			int64_t margin = estimator_predict(&est, length, length - 1000);

			if (i > 600)
				CHECK(margin < 70000);
			estimator_learn(&est, value, length);
		}
	}
}

static int steps_until(int64_t value, int64_t low, int64_t high)
{
	int steps = 0;

	while ((predict() < low || predict() > high) && steps < 1000) {
		learn(value + steps * 37 % 50);
		steps++;
	}
	return steps;
}

/* another idle state, frequency or neighbour: what was learned before is of little use */
static void a_change_is_followed(void)
{
	int steps;

	setup();
	CHECK(steps_until(20000, 20000, 21000) <= 2);
	learn_some(600, 20000);
	CHECK(predict() >= 20000 && predict() <= 21000);
	steps = steps_until(60000, 60000, 150000);
	printf("# %d sleeps late until it follows\n", steps);
	CHECK(steps <= 100);
	learn_some(600, 60000);
	CHECK(steps_until(20000, 20000, 21000) <= 1000);
}

static void lengths_of_sleep_are_told_apart(void)
{
	setup();
	for (int i = 0; i < 20; i++) {
		estimator_learn(&est, 10000, 50000);
		estimator_learn(&est, 90000, 10000000);
	}
	CHECK(covers(estimator_predict(&est, 60000, MOST), 10000));
	CHECK(covers(estimator_predict(&est, 20000000, MOST), 90000));
	/* of these nothing is known: the nearest */
	CHECK(covers(estimator_predict(&est, 200000, MOST), 10000));
	CHECK(covers(estimator_predict(&est, 3000, MOST), 10000));
}

/* Of @jobs jobs 10 us away, with sleeps that end @oversleep late: how many are worth a sleep. */
static int sleeps_of(int jobs, int64_t oversleep)
{
	int slept = 0;

	for (int i = 0; i < jobs; i++) {
		if (estimator_predict(&est, 10000, 9000) > 9000)
			continue;
		estimator_learn(&est, oversleep, 10000);
		slept++;
	}
	return slept;
}

/* No sleep ends in time: not to sleep is better, but for one in 67 that finds out. */
static void trials_cause_as_many_late_jobs_as_may_be_and_are_believed(void)
{
	int trials;

	setup();
	trials = sleeps_of(6700, 14000);
	printf("# %d trials in 6,700 jobs\n", trials);
	CHECK(trials >= 95 && trials <= 120);
	/* from the first that ends in time on each job is one */
	CHECK(sleeps_of(367, 3000) >= 300);
}

static void absurd_values_do_no_harm(void)
{
	setup();
	for (int i = 0; i < 600; i++) {
		learn(i % 3 ? INT64_MAX : INT64_MIN);
		CHECK(predict() >= 0);
		estimator_predict(&est, INT64_MAX, INT64_MAX);
		estimator_predict(&est, INT64_MIN, INT64_MIN);
	}
}

/* [IV.a] Of the last 64 values; a job without a sleep reduces all of them by a quarter. */
static void the_papers_filters_can_be_chosen(void)
{
	static const int64_t wanted[] = { 0, 11000, 74000 };

	for (int kind = 0; kind < 3; kind++) {
		setup_with(0, CLOCKFIX_ESTIMATOR_NONE + kind);
		learn(90000);
		learn(74000);
		for (int i = 0; i < 63; i++)
			learn(10000);
		CHECK_EQ(predict(), wanted[kind]);
		CHECK_EQ(predict(), wanted[kind]);
		for (int64_t value = wanted[kind]; value > 100; value = predict()) {
			/* it does not fit: no sleep */
			CHECK_EQ(estimator_predict(&est, LENGTH, value - 1), value);
			CHECK(llabs(predict() - value * 3 / 4) <= 3);
		}
	}
}

CHECK_MAIN(TEST(an_outlier_does_not_move_it),
	   TEST(longer_sleeps_are_more_punctual_by_default),
	   TEST(what_costs_too_much_is_not_tried), TEST(a_change_is_followed),
	   TEST(lengths_of_sleep_are_told_apart),
	   TEST(trials_cause_as_many_late_jobs_as_may_be_and_are_believed),
	   TEST(absurd_values_do_no_harm), TEST(the_papers_filters_can_be_chosen))
