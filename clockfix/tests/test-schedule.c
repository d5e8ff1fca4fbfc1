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

static void run_slow(int policy, uint64_t count)
{
	struct clockfix_spec spec;

	setup();
	spec = periodic(sim.now + 500000, 1000000, count, policy);
	spec.fn = slow_job;
	CHECK_EQ(clockfix_schedule(timer, &spec, NULL), 0);
	CHECK(sim_run(timer, 100));
}

static void missed_instants_are_skipped(void)
{
	run_slow(CLOCKFIX_MISSED_SKIP, 10);
	/* 0 1 2, then 3 4 5 are gone */
	CHECK_EQ(runs, 7);
	CHECK_EQ(ran[3].run.index, 6);
	CHECK_EQ(ran[3].run.missed, 3);
	CHECK(ran[3].now - ran[3].run.instant < 1000);
	CHECK_EQ(ran[4].run.missed, 0);
	CHECK_EQ(ran[6].run.index, 9);
	CHECK_EQ(stats().missed, 3);
	teardown();
}

static void missed_instants_are_caught_up(void)
{
	run_slow(CLOCKFIX_MISSED_CATCH_UP, 10);
	CHECK_EQ(runs, 10);
	for (int k = 0; k < 10; k++) {
		CHECK_EQ(ran[k].run.index, k);
		CHECK_EQ(ran[k].run.missed, 0);
	}
	CHECK(ran[5].now - ran[2].now < 3600000);
	CHECK_EQ(stats().missed, 2);
	teardown();
}

static void missed_instants_are_reported(void)
{
	run_slow(CLOCKFIX_MISSED_REPORT, 10);
	/* 0 1 2, then at once one for 3 4 5 */
	CHECK_EQ(runs, 8);
	CHECK_EQ(ran[3].run.index, 5);
	CHECK_EQ(ran[3].run.missed, 2);
	CHECK_EQ(ran[3].run.instant, ran[0].run.instant + 5000000);
	CHECK_EQ(ran[4].run.index, 6);
	CHECK_EQ(stats().missed, 2);
	teardown();
}

static void the_last_instants_are_missed(void)
{
	run_slow(CLOCKFIX_MISSED_SKIP, 5);
	CHECK_EQ(runs, 3);
	teardown();
	run_slow(CLOCKFIX_MISSED_REPORT, 5);
	CHECK_EQ(runs, 4);
	CHECK_EQ(ran[3].run.index, 4);
	CHECK_EQ(ran[3].run.missed, 1);
	teardown();
	run_slow(CLOCKFIX_MISSED_CATCH_UP, 5);
	CHECK_EQ(runs, 5);
	teardown();
}

static void periods_end_with_time(void)
{
	struct clockfix_spec spec;

	setup();
	spec = periodic(0, INT64_MAX / 2 + 1, 0, 0);
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
	spec = periodic(sim.now + 1000, 1000000, 0, 0);
	CHECK_EQ(clockfix_schedule(timer, &spec, NULL), 0);
	sim_turn(timer);
	spec = periodic(sim.now + 5000000, 1000000, 0, 0);
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
	CHECK(s.longest_job >= 70000 && s.longest_job < 70100);
	CHECK(s.sleeps >= 100 && s.sleeps <= 101);
	CHECK_EQ(s.oversleep.count, s.sleeps);
	CHECK(clockfix_histogram_quantile(&s.oversleep, 0.5) >= 5000);
	CHECK(clockfix_histogram_quantile(&s.oversleep, 0.5) < 5700);
	CHECK(clockfix_histogram_quantile(&s.lateness, 0.5) < 100);
	CHECK(s.polled > 0);
	teardown();
}

static void histograms_are_exact_to_a_sixteenth(void)
{
	static struct clockfix_histogram h;

	for (int64_t value = 0; value < 1000000000; value += value / 50 + 1) {
		unsigned int i = 0;

		while (clockfix_histogram_floor(i + 1) <= value)
			i++;
		CHECK(clockfix_histogram_floor(i) <= value);
		CHECK(clockfix_histogram_floor(i + 1) - clockfix_histogram_floor(i) <=
		      1 + value / 16);
		memset(&h, 0, sizeof(h));
		h.bucket[i] = 1;
		h.count = 1;
		h.max = value;
		CHECK_EQ(clockfix_histogram_quantile(&h, 0.5), value);
	}
	memset(&h, 0, sizeof(h));
	CHECK_EQ(clockfix_histogram_quantile(&h, 0.5), 0);
	CHECK_EQ(clockfix_histogram_quantile(NULL, 0.5), 0);
}

static void rehearsals_come_before_the_instant(void)
{
	struct clockfix_spec spec;

	setup();
	spec = periodic(sim.now + 500000, 1000000, 10,
			CLOCKFIX_MISSED_REPORT | CLOCKFIX_REHEARSE);
	CHECK_EQ(clockfix_schedule(timer, &spec, NULL), 0);
	CHECK(sim_run(timer, 100));
	/* the first sleep is as late as nobody could know */
	CHECK_EQ(runs, 19);
	for (unsigned int k = 1; k < runs; k++) {
		CHECK_EQ(!ran[k].run.started, k % 2);
		CHECK_EQ(ran[k].run.instant, spec.start + (k + 1) / 2 * 1000000LL);
		if (k % 2)
			CHECK(ran[k].now < ran[k].run.instant);
		else
			CHECK(ran[k].now - ran[k].run.instant < 1000);
	}
	CHECK_EQ(stats().jobs, 10);
	/* too late for one */
	runs = 0;
	spec.start = sim.now + 500;
	spec.runs = 1;
	CHECK_EQ(clockfix_schedule(timer, &spec, NULL), 0);
	CHECK(sim_run(timer, 10));
	CHECK_EQ(runs, 1);
	CHECK(ran[0].run.started);
	teardown();
}

CHECK_MAIN(TEST(rehearsals_come_before_the_instant),
	   TEST(missed_instants_are_skipped), TEST(missed_instants_are_caught_up),
	   TEST(missed_instants_are_reported), TEST(the_last_instants_are_missed),
	   TEST(periods_end_with_time), TEST(ending_drops_periodic_jobs_only),
	   TEST(statistics_count_what_happened), TEST(histograms_are_exact_to_a_sixteenth))
