// SPDX-License-Identifier: LGPL-2.1-or-later
/* test-jobs.c - earlier jobs, handles, limits, bad arguments; on the simulated machine */
#include "sim/runs.h"

/* ---- earlier jobs --------------------------------------------------------------------------- */

static int64_t late_instant;

static void submit_earlier(int64_t until)
{
	if (!late_instant)
		return;
	worker_set_self(NULL);
	submit(late_instant, 7);
	worker_set_self(timer);
	late_instant = 0;
}

/* from another thread, while the worker sleeps */
static void an_earlier_job_wakes_the_worker(void)
{
	int64_t t0;

	setup();
	t0 = sim.now;
	sim.sleeping = submit_earlier;
	late_instant = t0 + 1000000;
	submit(t0 + 900000000, 1);
	CHECK(sim_run(timer, 20));
	CHECK_EQ(ran[0].who, 7);
	CHECK(ran[0].now - t0 < 1100000);
	teardown();
}

static void submit_in_poll(void)
{
	if (late_instant && sim.now > late_instant - 300)
		submit_earlier(0);
}

/* The worker has claimed a job, with less than 5 us left, when an earlier one comes. */
static void an_earlier_job_comes_at_the_last_moment(void)
{
	clockfix_job handle;
	int64_t t0;

	for (int periodic_job = 0; periodic_job < 2; periodic_job++) {
		setup();
		/* it knows how late sleeps end */
		for (int i = 0; i < 100; i++)
			estimator_learn(&timer->waiter.est, 20000, 1000000);
		t0 = sim.now;
		if (periodic_job) {
			struct clockfix_spec spec = periodic(t0, 1000000, 2);

			CHECK_EQ(clockfix_schedule(timer, &spec, &handle), 0);
			sim_turn(timer);
			runs = 0;
		} else {
			handle = submit(t0 + 1000000, 0);
		}
		sim.reading = submit_in_poll;
		late_instant = t0 + 1000000 - 100;
		CHECK(sim_run(timer, 20));
		CHECK_EQ(runs, 2);
		CHECK_EQ(ran[0].who, 7);
		CHECK_EQ(ran[1].run.job, handle);
		CHECK(ran[1].now >= t0 + 1000000);
		sim.reading = NULL;
		teardown();
	}
}

/* ---- handles, and what jobs may not do -------------------------------------------------- */

static void foreign_handles_are_safe(void)
{
	setup();
	CHECK_EQ(clockfix_cancel(timer, 0), -ENOENT);
	CHECK_EQ(clockfix_cancel(timer, UINT64_MAX), -ENOENT);
	CHECK_EQ(clockfix_cancel(timer, 1ull << 32 | 0xfffff), -ENOENT);
	/* the dummy, and slots that never were a job's */
	for (uint32_t i = 0; i < 600; i++) {
		for (uint64_t generation = 0; generation < 3; generation++)
			CHECK(clockfix_cancel_wait(timer, generation << 32 | i) == -ENOENT);
	}
	teardown();
}

static void waiting_job(void *arg, const struct clockfix_run *run)
{
	CHECK_EQ(clockfix_cancel_wait(run->timer, run->job), -EDEADLK);
	CHECK_EQ(clockfix_drain(run->timer), -EDEADLK);
	CHECK_EQ(clockfix_destroy(run->timer, 0), -EDEADLK);
	runs++;
}

static void a_job_can_not_wait_for_its_own_timer(void)
{
	setup();
	CHECK_EQ(clockfix_submit(timer, sim.now, waiting_job, NULL, NULL), 0);
	CHECK(sim_run(timer, 10));
	CHECK_EQ(runs, 1);
	teardown();
}

/* ---- what a job's first call goes through ------------------------------------------------- */

static void job_of(uintptr_t fn, uint8_t module)
{
	clockfix_job handle;

	CHECK_EQ(clockfix_submit(timer, sim.now + 1000000, (clockfix_fn)fn, NULL, &handle), 0);
	CHECK_EQ(slot_of_job(&timer->slots, handle)->module, module);
	CHECK_EQ(clockfix_cancel(timer, handle), 0);
}

static void the_modules_of_jobs_are_known(void)
{
	char *heap = malloc(2 * MODULES);

	setup();
	job_of((uintptr_t)job, 1);
	job_of((uintptr_t)setup, 1);
	job_of((uintptr_t)getenv, 2);
	CHECK(module_has(&timer->module[0], (uintptr_t)job));
	CHECK(!module_has(&timer->module[0], (uintptr_t)getenv));
	/* the addresses that this program calls others by */
	CHECK(timer->module[0].table > timer->module[0].code);
	/* code that belongs to no module; a job finds what is known, and no more */
	worker_set_self(timer);
	job_of((uintptr_t)getenv, 2);
	job_of((uintptr_t)heap, 0);
	worker_set_self(NULL);
	for (int i = 0; i < 2 * MODULES; i++)
		job_of((uintptr_t)&heap[i], i + 3 <= MODULES ? i + 3 : 0);
	free(heap);
	teardown();
}

/* ---- limits ----------------------------------------------------------------------------- */

/* Memory runs out at each point in turn, or there are as many jobs as may be. */
static void no_memory_changes_nothing(void)
{
	struct clockfix_options options;
	struct clockfix *none = NULL;
	int ret = -ENOMEM;

	sim_reset();
	for (int64_t fail = 0; ret; fail++) {
		CHECK(fail < 10);
		sim.alloc_fail = fail;
		ret = timer_new(&none, NULL);
		CHECK(!ret || ret == -ENOMEM);
		CHECK(ret || fail);
		if (ret)
			CHECK_EQ(sim.allocated, 0);
	}
	sim_timer_free(none);

	clockfix_options_init(&options);
	options.max_jobs = 1000;
	setup_with(&options);
	for (int i = 0; i < 1000; i++)
		submit(sim.now + i, 0);
	CHECK_EQ(clockfix_submit(timer, sim.now, job, NULL, NULL), -ENOMEM);
	sim_turn(timer);
	submit(sim.now, 0);
	CHECK(sim_run(timer, 2000));
	CHECK_EQ(stats().jobs, 1001);
	teardown();
}

static void bad_arguments_are_refused(void)
{
	struct clockfix_options options;
	struct clockfix_spec spec;

	setup();
	CHECK_EQ(clockfix_submit(NULL, 0, job, NULL, NULL), -EINVAL);
	CHECK_EQ(clockfix_submit(timer, 0, NULL, NULL, NULL), -EINVAL);
	CHECK_EQ(clockfix_submit(timer, -1, job, NULL, NULL), -EINVAL);
	CHECK_EQ(clockfix_submit(timer, INT64_MAX, job, NULL, NULL), -EINVAL);
	CHECK_EQ(clockfix_schedule(timer, NULL, NULL), -EINVAL);
	CHECK_EQ(clockfix_cancel(NULL, 1), -EINVAL);
	CHECK_EQ(clockfix_stats_read(timer, NULL), -EINVAL);
#define BAD_SPEC(field, value)							\
	do {									\
		spec = periodic(0, 1, 0);					\
		spec.field = value;						\
		CHECK_EQ(clockfix_schedule(timer, &spec, NULL), -EINVAL);	\
	} while (0)
	BAD_SPEC(size, 0);
	BAD_SPEC(size, sizeof(spec) - 1);
	BAD_SPEC(period, -1);
	BAD_SPEC(start, -1);
	BAD_SPEC(start, INT64_MAX);
	BAD_SPEC(fn, NULL);
	spec = periodic(0, 0, 1);
	CHECK_EQ(clockfix_schedule(timer, &spec, NULL), -EINVAL);
	CHECK_EQ(stats().pending, 0);
	teardown();

#define BAD_OPTION(field, value)						\
	do {									\
		clockfix_options_init(&options);				\
		options.field = value;						\
		CHECK_EQ(timer_new(&timer, &options), -EINVAL);			\
	} while (0)
	BAD_OPTION(size, 8);
	BAD_OPTION(cpu, -2);
	BAD_OPTION(cpu, 1024);
	BAD_OPTION(policy, 99);
	BAD_OPTION(policy, 1);		/* FIFO without a priority */
	BAD_OPTION(priority, 1);	/* a priority without FIFO */
	BAD_OPTION(estimator, 4);
	BAD_OPTION(late_ppm, UINT32_MAX);
	BAD_OPTION(late_ppm, 1000001);
	BAD_OPTION(cpu_ppm, 1000001);
	BAD_OPTION(max_jobs, 15);
	BAD_OPTION(max_jobs, 16000001);
}

/* What an older or newer program hands in. */
static void structures_of_other_versions(void)
{
	struct {
		struct clockfix_options options;
		uint64_t more[4];
	} newer = { 0 };
	struct {
		struct clockfix_stats stats;
		uint64_t more[4];
	} longer;

	clockfix_options_init(&newer.options);
	newer.options.size = sizeof(newer);
	setup_with(&newer.options);
	memset(&longer, 0xff, sizeof(longer));
	longer.stats.size = sizeof(longer);
	CHECK_EQ(clockfix_stats_read(timer, &longer.stats), 0);
	CHECK_EQ(longer.stats.size, sizeof(longer));
	CHECK_EQ(longer.stats.jobs, 0);
	CHECK_EQ(longer.more[3], 0);
	longer.stats.size = sizeof(longer.stats) - 1;
	CHECK_EQ(clockfix_stats_read(timer, &longer.stats), -EINVAL);
	longer.stats.size = SIZE_MAX;
	CHECK_EQ(clockfix_stats_read(timer, &longer.stats), -EINVAL);
	teardown();
	newer.more[3] = 1;
	CHECK_EQ(timer_new(&timer, &newer.options), -E2BIG);
	newer.options.size = SIZE_MAX / 2;
	CHECK_EQ(timer_new(&timer, &newer.options), -EINVAL);
}

CHECK_MAIN(TEST(an_earlier_job_wakes_the_worker),
	   TEST(an_earlier_job_comes_at_the_last_moment), TEST(foreign_handles_are_safe),
	   TEST(a_job_can_not_wait_for_its_own_timer), TEST(the_modules_of_jobs_are_known),
	   TEST(no_memory_changes_nothing),
	   TEST(bad_arguments_are_refused), TEST(structures_of_other_versions))
