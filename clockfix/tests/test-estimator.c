// SPDX-License-Identifier: LGPL-2.1-or-later
/* test-estimator.c - what the estimators predict */
#include <string.h>

#include "check.h"
#include "estimator.h"
#include "../bench/series.h"

#define LENGTH 100000	/* ns: a length of sleep */
#define TICK 4000000LL

static struct estimator est;

static int64_t tick;		/* the estimator is told */

static void setup(int kind, uint32_t window)
{
	struct clockfix_options options;

	clockfix_options_init(&options);
	options.estimator = kind;
	options.window = window;
	options.fixed_margin = 4711;
	estimator_init(&est, &options);
	est.tick = tick;
}

static void learn(int64_t oversleep)
{
	estimator_learn(&est, oversleep, LENGTH);
}

static int64_t predict(void)
{
	return estimator_predict(&est, LENGTH, 0);
}

static void fixed_stays(void)
{
	setup(CLOCKFIX_ESTIMATOR_FIXED, 0);
	learn(50000);
	estimator_decay(&est, LENGTH);
	CHECK_EQ(predict(), 4711);
}

/* [IV.a] the greatest of a sliding window of fixed size */
static void max_is_the_greatest_of_the_window(void)
{
	setup(CLOCKFIX_ESTIMATOR_MAX, 3);
	CHECK_EQ(predict(), 0);
	learn(10);
	CHECK_EQ(predict(), 10);
	learn(30);
	learn(20);
	CHECK_EQ(predict(), 30);
	learn(5);
	CHECK_EQ(predict(), 30);
	learn(4);
	CHECK_EQ(predict(), 20);
	learn(3);
	CHECK_EQ(predict(), 5);
}

static void max_with_random_values_matches_the_model(void)
{
	uint64_t rng = 42;
	int64_t last[16] = { 0 };

	setup(CLOCKFIX_ESTIMATOR_MAX, 16);
	for (int i = 0; i < 100000; i++) {
		int64_t max = 0;

		last[i % 16] = check_random(&rng) % 1000;
		learn(last[i % 16]);
		for (int k = 0; k < 16; k++)
			max = last[k] > max ? last[k] : max;
		CHECK_EQ(predict(), max);
	}
}

/* [IV.a] all observed values are reduced by 25 % */
static void max_decays_by_a_quarter(void)
{
	setup(CLOCKFIX_ESTIMATOR_MAX, 3);
	learn(1000);
	learn(800);
	estimator_decay(&est, LENGTH);
	CHECK_EQ(predict(), 750);
	CHECK_EQ(est.decays, 1);
	learn(1);
	learn(1);
	/* the 1000 is gone, the 800 have become 600 */
	CHECK_EQ(predict(), 600);
	for (int i = 0; i < 100; i++)
		estimator_decay(&est, LENGTH);
	CHECK(predict() < 4);
}

static void an_outlier_does_not_move_the_default(void)
{
	int64_t before;

	setup(CLOCKFIX_ESTIMATOR_DEFAULT, 0);
	for (int i = 0; i < 300; i++)
		learn(10000 + i * 37 % 100);
	before = predict();
	learn(5000000);
	/* nor does one out of so many: twice what was expected is all that it counts */
	CHECK(predict() - before < before / 3);
	for (int i = 0; i < 10; i++)
		learn(10000 + i * 37 % 100);
	CHECK(predict() - before < before / 10);
}

/* the share of values above the prediction, for independent values of one distribution */
static double share_above(uint32_t effort)
{
	struct clockfix_options options;
	uint64_t rng = 7;
	int above = 0;

	clockfix_options_init(&options);
	options.effort = effort;
	estimator_init(&est, &options);
	for (int i = 0; i < 50000; i++) {
		int64_t value = 10000 + check_random(&rng) % 10000;

		if (!(check_random(&rng) % 50))
			value += check_random(&rng) % 1000000;
		if (i >= 2000)
			above += value > predict();
		learn(value);
	}
	return above / 48000.0;
}

static void effort_trades_polling_for_lateness(void)
{
	double usual = share_above(0), third = share_above(300), four_times = share_above(25);

	printf("# late: %.2f %%, effort 300: %.2f %%, effort 25: %.2f %%\n", 100 * usual,
	       100 * third, 100 * four_times);
	CHECK(usual > 0.010 && usual < 0.020);
	CHECK(third > 0.003 && third < 0.008);
	CHECK(four_times > 0.040 && four_times < 0.080);
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
static void a_change_of_regime_is_followed(void)
{
	setup(CLOCKFIX_ESTIMATOR_DEFAULT, 0);
	for (int i = 0; i < 600; i++)
		learn(20000 + i * 37 % 100);
	CHECK(predict() >= 20000 && predict() <= 20200);
	/* no more than an eighth of the window is late; and then it has to forget */
	CHECK(steps_until(60000, 60000, 60200) <= 64);
	for (int i = 0; i < 600; i++)
		learn(60000 + i * 37 % 100);
	CHECK(steps_until(20000, 20000, 20200) <= 512);
}

/* sleep in turns until just before and until far from each tick, where it ends 30 us later */
static void rough_phases_are_learned(void)
{
	int64_t begin = 1000 * TICK, calm = 0, rough = 0;
	int late = 0;

	tick = TICK;
	setup(CLOCKFIX_ESTIMATOR_DEFAULT, 0);
	tick = 0;
	for (int i = 0; i < 8000; i++) {
		bool near = i % 40 == 0;
		int64_t until = begin + i / 40 * TICK + i % 40 * 100000, margin;

		estimator_predict(&est, LENGTH, until);
		margin = estimator_predict(&est, LENGTH, until + est.calm);
		if (i >= 4000) {
			late += margin < (near ? 50000 : 20000);
			*(near ? &rough : &calm) = margin;
		}
		est.until = until;
		estimator_learn(&est, near ? 50000 : 20000, LENGTH);
	}
	printf("# calm %lld ns, rough %lld ns, %d late\n", (long long)calm, (long long)rough, late);
	CHECK(calm < 25000);
	CHECK(rough >= 49000);
	CHECK(late <= 80);

	/* that period was not the tick's: what was rough is calm again */
	for (int i = 0; i < 8000; i++) {
		int64_t until = begin + i % 40 * 100000;

		estimator_predict(&est, LENGTH, until);
		rough = estimator_predict(&est, LENGTH, until + est.calm);
		est.until = until;
		estimator_learn(&est, 20000, LENGTH);
		if (i % 40 == 0 && i > 4000)
			CHECK(rough < 25000);
	}
}

/* a phase that is kept clear of is tried again now and then, and found to be calm */
static void avoided_phases_are_forgotten(void)
{
	int64_t until = 1000 * TICK, instant;
	int avoided[2] = { 0, 0 };

	tick = TICK;
	setup(CLOCKFIX_ESTIMATOR_DEFAULT, 0);
	tick = 0;
	for (int i = 0; i < 40000; i++) {
		bool near;

		/* one in 40 would sleep until just when there is a tick */
		instant = until + i % 40 * 100000;
		estimator_predict(&est, LENGTH, instant);
		instant += est.calm;
		near = (instant - est.calm) % TICK == 0;
		until = instant - estimator_predict(&est, LENGTH, instant);
		if (near)
			avoided[i >= 20000] += until % TICK != 0;
		near = until % TICK == 0;
		estimator_learn(&est, i < 20000 && near ? 50000 : 20000, LENGTH);
		until = (until + TICK - 1) / TICK * TICK;
	}
	printf("# kept clear of %d times of 500, then %d\n", avoided[0], avoided[1]);
	CHECK(avoided[0] > 100);
	CHECK(avoided[1] < 50);
}

static void lengths_of_sleep_are_told_apart(void)
{
	setup(CLOCKFIX_ESTIMATOR_DEFAULT, 0);
	for (int i = 0; i < 50; i++) {
		estimator_learn(&est, 10000, 50000);
		estimator_learn(&est, 90000, 10000000);
	}
	CHECK_EQ(estimator_predict(&est, 60000, 0), 10000);
	CHECK_EQ(estimator_predict(&est, 20000000, 0), 90000);
	/* of these nothing is known: the nearest */
	CHECK_EQ(estimator_predict(&est, 200000, 0), 10000);
	CHECK_EQ(estimator_predict(&est, 3000, 0), 10000);
}

/* sleeps declined until a trial is made; each trial that fails doubles them */
static void trials_become_rare_while_they_fail(void)
{
	int declined[6];

	setup(CLOCKFIX_ESTIMATOR_DEFAULT, 0);
	for (int i = 0; i < 300; i++)
		estimator_learn(&est, 14000, 10000);
	for (int trial = 0; trial < 6; trial++) {
		declined[trial] = 0;
		while (estimator_predict(&est, 10000, 0) > 9000) {
			estimator_decay(&est, 10000);
			declined[trial]++;
		}
		estimator_learn(&est, 14000, 10000);
		CHECK_EQ(estimator_predict(&est, 10000, 0), 14000);
	}
	for (int trial = 1; trial < 6; trial++)
		CHECK_EQ(declined[trial], 2 * declined[trial - 1]);
}

static void a_trial_that_succeeds_is_believed(void)
{
	setup(CLOCKFIX_ESTIMATOR_DEFAULT, 0);
	for (int i = 0; i < 300; i++)
		estimator_learn(&est, 14000, 10000);
	while (estimator_predict(&est, 10000, 0) > 9000)
		estimator_decay(&est, 10000);
	/* a quarter less for each, as the paper's, until it sleeps each time */
	for (int trial = 1; trial <= 2; trial++) {
		CHECK(estimator_predict(&est, 10000, 0) <= 9000);
		estimator_learn(&est, 3000, 10000);
		CHECK_EQ(est.changes, trial);
		while (estimator_predict(&est, 10000, 0) > 9000)
			estimator_decay(&est, 10000);
	}
	estimator_learn(&est, 3000, 10000);
	CHECK(estimator_predict(&est, 10000, 0) <= 9000);
}

static void absurd_values_do_no_harm(void)
{
	for (int kind = 0; kind <= CLOCKFIX_ESTIMATOR_FIXED; kind++) {
		setup(kind, 0);
		for (int i = 0; i < 600; i++) {
			learn(i % 3 ? INT64_MAX : INT64_MIN);
			estimator_decay(&est, i % 2 ? INT64_MAX : INT64_MIN);
			CHECK(predict() >= 0);
			CHECK(predict() <= INT32_MAX);
		}
	}
}

/* recorded series: as many late jobs as with the maximum filter, within a tenth, less polling */
static void the_default_polls_less_than_the_maximum_filter(void)
{
	static const struct {
		const char *path;
		int sleeps, percent;
	} recorded[] = {
		{ DATA "/oversleep-100us-busy.txt", 20000, 75 },
		{ DATA "/oversleep-1ms-busy.txt", 10000, 40 },
	};
	struct clockfix_options filter, standard;

	clockfix_options_init(&filter);
	filter.estimator = CLOCKFIX_ESTIMATOR_MAX;
	clockfix_options_init(&standard);
	for (int i = 0; i < 2; i++) {
		struct outcome max, best;
		struct series series;

		CHECK_EQ(series_read(recorded[i].path, &series), 0);
		CHECK_EQ(series.count, recorded[i].sleeps);
		max = replay(&series, &filter);
		best = replay(&series, &standard);
		printf("# maximum filter: %d late, %lld us polled; default: %d late, %lld us\n",
		       (int)max.late, (long long)max.polled / 1000, (int)best.late,
		       (long long)best.polled / 1000);
		CHECK(best.late <= max.late * 11 / 10);
		CHECK(best.polled < max.polled * recorded[i].percent / 100);
		free(series.sleep);
	}
}

CHECK_MAIN(TEST(fixed_stays),
	   TEST(max_is_the_greatest_of_the_window),
	   TEST(max_with_random_values_matches_the_model), TEST(max_decays_by_a_quarter),
	   TEST(an_outlier_does_not_move_the_default),
	   TEST(effort_trades_polling_for_lateness),
	   TEST(a_change_of_regime_is_followed),
	   TEST(rough_phases_are_learned), TEST(avoided_phases_are_forgotten),
	   TEST(lengths_of_sleep_are_told_apart),
	   TEST(trials_become_rare_while_they_fail),
	   TEST(a_trial_that_succeeds_is_believed), TEST(absurd_values_do_no_harm),
	   TEST(the_default_polls_less_than_the_maximum_filter))
