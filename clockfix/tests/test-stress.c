// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * test-stress.c - many threads submit and cancel while the worker runs jobs
 *
 * Each job runs exactly once or was cancelled, never both; never early; jobs of one clock start
 * in the order of their instants as far as they were submitted in time. To be run as it is and
 * with the address, undefined-behaviour and thread sanitizers. Duration: CLOCKFIX_STRESS seconds.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <clockfix.h>

#include "check.h"

#define THREADS 4
#define OPEN 64		/* jobs a thread keeps handles of */

struct item {
	_Atomic int runs;
	int64_t instant;
	clockfix_job job;
	bool periodic;
	clockid_t clock;
};

struct submitter {
	pthread_t thread;
	struct clockfix *timer;
	uint64_t rng;
	uint64_t submitted, cancelled, late_handles;
	struct item item[OPEN];
};

static _Atomic uint64_t early, double_runs, runs_total;
static atomic_bool stop;

static double duration(void)
{
	const char *text = getenv("CLOCKFIX_STRESS");

	return text ? atof(text) : 3;
}

static void job(void *arg, const struct clockfix_run *run)
{
	struct item *item = arg;

	if (clockfix_now(item->clock) < run->instant ||
	    run->instant < item->instant)
		atomic_fetch_add(&early, 1);
	if (atomic_fetch_add(&item->runs, 1) && !item->periodic)
		atomic_fetch_add(&double_runs, 1);
	atomic_fetch_add(&runs_total, 1);
}

/* See a job to its end, one way or the other, and check that it was one of them. */
static void settle(struct submitter *sub, struct item *item)
{
	int ret, runs;

	if (!item->job)
		return;
	ret = clockfix_cancel_wait(sub->timer, item->job);
	runs = atomic_load(&item->runs);
	if (!item->periodic) {
		if (ret == 0)
			CHECK_EQ(runs, 0);
		else
			CHECK((ret == 1 || ret == -ENOENT) && runs == 1);
	}
	sub->cancelled += !ret && !runs;
	CHECK_EQ(clockfix_cancel(sub->timer, item->job), -ENOENT);
	sub->late_handles++;
	item->job = 0;
}

static void submit(struct submitter *sub, struct item *item)
{
	uint64_t r = check_random(&sub->rng);
	struct clockfix_spec spec;
	int ret;

	clockfix_spec_init(&spec);
	item->periodic = !(r % 16);
	atomic_store(&item->runs, 0);
	spec.clock = r / 16 % 8 ? CLOCK_MONOTONIC : CLOCK_TAI;
	spec.start = clockfix_now(spec.clock) + (int64_t)(r / 128 % 300000) - 20000;
	if (item->periodic) {
		spec.period = 20000 + r / 1024 % 100000;
		spec.runs = r / 4096 % 20;
		spec.missed = r / 65536 % 3;
	}
	spec.fn = job;
	spec.arg = item;
	item->clock = spec.clock;
	item->instant = spec.start;
	ret = clockfix_schedule(sub->timer, &spec, &item->job);
	CHECK(ret == 0 || ret == -ENOMEM);
	if (ret)
		item->job = 0;
	else
		sub->submitted++;
}

static void *submitter(void *arg)
{
	struct submitter *sub = arg;

	while (!atomic_load(&stop)) {
		struct item *item = &sub->item[check_random(&sub->rng) % OPEN];

		settle(sub, item);
		submit(sub, item);
		if (!(check_random(&sub->rng) % 64)) {
			struct timespec ts = { .tv_nsec = check_random(&sub->rng) % 200000 };

			nanosleep(&ts, NULL);
		}
	}
	for (int i = 0; i < OPEN; i++)
		settle(sub, &sub->item[i]);
	return NULL;
}

static void *reader(void *arg)
{
	static struct clockfix_stats stats = { .size = sizeof(stats) };
	struct clockfix *timer = arg;
	uint64_t last = 0;

	while (!atomic_load(&stop)) {
		struct timespec ts = { .tv_nsec = 1000000 };

		CHECK_EQ(clockfix_stats_read(timer, &stats), 0);
		CHECK(stats.jobs >= last);
		last = stats.jobs;
		nanosleep(&ts, NULL);
	}
	return NULL;
}

static void stress(const struct clockfix_options *options)
{
	static struct submitter subs[THREADS];
	struct clockfix_stats stats = { .size = sizeof(stats) };
	struct clockfix *timer;
	uint64_t submitted = 0, cancelled = 0;
	pthread_t reading;
	struct timespec ts = { .tv_sec = duration() };

	ts.tv_nsec = (duration() - ts.tv_sec) * 1e9;
	memset(subs, 0, sizeof(subs));
	atomic_store(&stop, false);
	atomic_store(&early, 0);
	atomic_store(&double_runs, 0);
	atomic_store(&runs_total, 0);
	CHECK_EQ(clockfix_create(&timer, options), 0);
	for (int i = 0; i < THREADS; i++) {
		subs[i].timer = timer;
		subs[i].rng = 1000 + i;
		pthread_create(&subs[i].thread, NULL, submitter, &subs[i]);
	}
	pthread_create(&reading, NULL, reader, timer);
	nanosleep(&ts, NULL);
	atomic_store(&stop, true);
	pthread_join(reading, NULL);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(subs[i].thread, NULL);
		submitted += subs[i].submitted;
		cancelled += subs[i].cancelled;
	}
	CHECK_EQ(clockfix_drain(timer), 0);
	CHECK_EQ(clockfix_stats_read(timer, &stats), 0);
	CHECK_EQ(stats.pending, 0);
	CHECK_EQ(stats.jobs, atomic_load(&runs_total));
	CHECK_EQ(stats.lateness.count, stats.jobs);
	CHECK_EQ(clockfix_destroy(timer, 0), 0);
	printf("# %llu jobs submitted, %llu cancelled before a run, %llu runs\n",
	       (unsigned long long)submitted, (unsigned long long)cancelled,
	       (unsigned long long)atomic_load(&runs_total));
	CHECK(submitted > 100);
	CHECK(cancelled > 0);
	CHECK(atomic_load(&runs_total) > 100);
	CHECK_EQ(atomic_load(&early), 0);
	CHECK_EQ(atomic_load(&double_runs), 0);
}

static void with_room(void)
{
	struct clockfix_options options;

	clockfix_options_init(&options);
	stress(&options);
}

static void with_hardly_any_room(void)
{
	struct clockfix_options options;

	clockfix_options_init(&options);
	options.max_jobs = 16;
	options.job_reserve = 1;
	options.source = CLOCKFIX_SOURCE_CLOCK;
	stress(&options);
}

/* Timers come and go while jobs are pending. */
static void timers_that_are_dropped(void)
{
	static struct item item;
	uint64_t rng = 3;

	item.periodic = true;
	item.clock = CLOCK_MONOTONIC;
	for (int i = 0; i < 50; i++) {
		struct clockfix *timer;

		CHECK_EQ(clockfix_create(&timer, NULL), 0);
		for (int k = 0; k < 200; k++)
			clockfix_submit(timer, clockfix_now(CLOCK_MONOTONIC) +
					check_random(&rng) % 1000000, job, &item, NULL);
		CHECK_EQ(clockfix_destroy(timer, i % 2 ? CLOCKFIX_DROP_PENDING : 0), 0);
	}
}

CHECK_MAIN(TEST(with_room), TEST(with_hardly_any_room), TEST(timers_that_are_dropped))
