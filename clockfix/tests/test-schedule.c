// SPDX-License-Identifier: LGPL-2.1-or-later
/* test-schedule.c - periodic jobs, statistics; on the simulated machine */
#include "sim/runs.h"

/* ---- periodic --------------------------------------------------------------------------- */

static void slow_job(void *arg, const struct clockfix_run *run)
{
	job(arg, run);
	/* the third run takes 3.5 periods */
	if (run->index == 2)
		sim.now += 3500000;
}

/* After the third run instants 3, 4 and 5 of ten have passed, or the last two of five. */
static void missed_instants_are_dealt_with(void)
{
	static const struct {
		int count;	/* of instants */
		unsigned int runs, missed, index, told;	/* index and told: of the fourth run */
	} cases[] = {
		{ 10, 7, 3, 6, 3 }, { 5, 3, 2, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct clockfix_spec spec;

		setup();
		spec = periodic(sim.now + 500000, 1000000, cases[i].count);
		spec.fn = slow_job;
		CHECK_EQ(clockfix_schedule(timer, &spec, NULL), 0);
		CHECK(sim_run(timer, 100));
		CHECK_EQ(runs, cases[i].runs);
		CHECK_EQ(stats().missed, cases[i].missed);
		for (unsigned int k = 0, index = 0; k < runs; k++, index++) {
			if (k == 3)
				index = cases[i].index;
			CHECK_EQ(ran[k].run.index, index);
			CHECK_EQ(ran[k].run.missed, k == 3 ? cases[i].told : 0);
			CHECK_EQ(ran[k].run.instant, spec.start + index * 1000000);
		}
		/* the next on time */
		if (runs > 3)
			CHECK(ran[3].now - ran[3].run.instant < 1000);
		teardown();
	}
}

static void periods_end_with_time(void)
{
	struct clockfix_spec spec;

	setup();
	spec = periodic(0, INT64_MAX / 2 + 1, 0);
	CHECK_EQ(clockfix_schedule(timer, &spec, NULL), 0);
	sim_turn(timer);
	CHECK_EQ(runs, 1);
	CHECK_EQ(stats().pending, 1);
	sim.now = INT64_MAX - 1000000;
	CHECK(sim_run(timer, 10));
	teardown();
}

static void ending_drops_periodic_jobs_only(void)
{
	struct clockfix_spec spec;

	setup();
	spec = periodic(sim.now + 1000, 1000000, 0);
	CHECK_EQ(clockfix_schedule(timer, &spec, NULL), 0);
	sim_turn(timer);
	spec = periodic(sim.now + 5000000, 1000000, 0);
	CHECK_EQ(clockfix_schedule(timer, &spec, NULL), 0);
	submit(sim.now + 10000000, 1);
	atomic_store(&timer->dead, true);
	runs = 0;
	for (int i = 0; i < 10 && sim_turn(timer); i++)
		;
	CHECK_EQ(runs, 1);
	CHECK_EQ(ran[0].who, 1);
	CHECK_EQ(stats().pending, 0);
	CHECK(!sim_turn(timer));
	teardown();
}

/* ---- statistics ------------------------------------------------------------------------- */

static void statistics_count_what_happened(void)
{
	struct clockfix_stats s;

	setup();
	job_takes = 70000;
	for (int i = 0; i < 100; i++)
		submit(sim.now + 1000000 * (i + 1), 0);
	submit(sim.now + 50000010, 0);	/* behind a job that takes 70 us */
	CHECK_EQ(stats().pending, 101);
	CHECK(sim_run(timer, 1000));
	s = stats();
	CHECK_EQ(s.jobs, 101);
	CHECK_EQ(s.pending, 0);
	CHECK_EQ(s.lateness.count, 101);
	CHECK(s.lateness.max > 69000 && s.lateness.max < 80000);
	CHECK(s.sleeps >= 100 && s.sleeps <= 101);
	CHECK(clockfix_histogram_quantile(&s.lateness, 0.5) < 100);
	CHECK(s.polled > 0);
	teardown();
}

static void histograms_are_exact_to_a_sixteenth(void)
{
	static struct clockfix_histogram h;

	for (int64_t value = 0; value < 1000000000; value += value / 50 + 1) {
		int64_t end;

		memset(&h, 0, sizeof(h));
		clockfix_histogram_add(&h, value);
		CHECK_EQ(clockfix_histogram_quantile(&h, 0.5), value);
		CHECK(h.count == 1 && h.sum == value && h.max == value);
		/* the end of its bucket, next to a value far above */
		clockfix_histogram_add(&h, INT64_MAX / 2);
		end = clockfix_histogram_quantile(&h, 0.5);
		CHECK(end >= value && end <= value + value / 16);
	}
	memset(&h, 0, sizeof(h));
	CHECK_EQ(clockfix_histogram_quantile(&h, 0.5), 0);
	CHECK_EQ(clockfix_histogram_quantile(NULL, 0.5), 0);
}

CHECK_MAIN(TEST(missed_instants_are_dealt_with), TEST(periods_end_with_time),
	   TEST(ending_drops_periodic_jobs_only),
	   TEST(statistics_count_what_happened), TEST(histograms_are_exact_to_a_sixteenth))
