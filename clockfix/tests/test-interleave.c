// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * test-interleave.c - every interleaving of one submitter and the worker on short lists
 *
 * The library's own sources run step by step (steps/). Each job must run exactly once, or never
 * if its cancellation said so; none before its instant; none may be lost, nor a wake-up; and no
 * slot may be lost or be used twice.
 *
 * Of a short list all orders would be too many: all are tried that have few preemptions.
 */
#include <string.h>

#include "check.h"
#include "sim/turn.h"
#include "steps/sched.h"

#define JOBS 5

static struct clockfix *timer;
static int64_t t0;
static struct {
	clockfix_job handle;
	int runs, cancel;
	int64_t instant;
} jobs[JOBS];
static int pending_before;

static void complain(const char *what)
{
	if (check_failed++ < 3) {
		printf("# %s\n", what);
		sched_print();
	}
}

static void check_jobs(int count)
{
	for (int n = 0; n < count; n++) {
		/* cancel: 1 not tried, 0 it will not run, else it did */
		if (jobs[n].cancel == 0 && jobs[n].runs)
			complain("a cancelled job ran");
		if (jobs[n].cancel != 0 && jobs[n].runs != 1)
			complain(jobs[n].runs ? "a job ran twice" : "a job was lost");
	}
}

static void job(void *arg, const struct clockfix_run *run)
{
	intptr_t n = (intptr_t)arg;

	jobs[n].runs++;
	if (sim.now < run->instant)
		complain("a job was early");
}

static void sleeping(int64_t until)
{
	if (until != INT64_MAX) {
		step();
		return;
	}
	while (!sim.woken) {
		if (!sched_block()) {
			complain("the worker sleeps for ever");
			atomic_store(&timer->drop, true);
			sim.woken = true;
		}
	}
}

static void timer_switched(int to)
{
	worker_set_self(to == WORKER ? timer : NULL);
}

static void submit(int n, int64_t instant)
{
	jobs[n].instant = instant;
	if (clockfix_submit(timer, instant, job, (void *)(intptr_t)n, &jobs[n].handle))
		complain("not submitted");
}

static void timer_setup(void)
{
	struct clockfix_options options;

	clockfix_options_init(&options);
	options.max_jobs = 16;
	options.job_reserve = 1;
	sim_reset();
	sim.sleeping = sleeping;
	timer = sim_timer(&options);
	worker_set_self(NULL);
	t0 = sim.now;
	memset(jobs, 0, sizeof(jobs));
	for (int n = 0; n < JOBS; n++)
		jobs[n].cancel = 1;
	for (int n = 0; n < pending_before; n++)
		submit(n, t0 + 5000 * (n + 1));
}

static void timer_worker(void)
{
	while (worker_turn(timer))
		;
}

/* slots neither free nor, for good, in use */
static void check_slots(void)
{
	uint32_t free = 0, known = 2 + 1;	/* the dummy, the queue's last; the reserve */

	clockfix_submit(timer, 0, job, (void *)(intptr_t)(JOBS - 1), NULL);
	for (uint32_t i = timer->slots.free_first; i != SLOT_NONE && free < 1000;
	     i = slot_at(&timer->slots, i)->free_next)
		free++;
	/* what the list still holds */
	for (uint32_t i = timer->list.head; i != timer->list.dummy;
	     i = slot_at(&timer->slots, i)->next)
		known++;
	if (free + known != timer->slots.used)
		complain("a slot was lost or is used twice");
}

static int timer_jobs;

static void timer_check_all(void)
{
	worker_set_self(NULL);
	check_jobs(timer_jobs);
	if (timer_pending(timer))
		complain("the number of pending jobs is wrong");
	check_slots();
	sim_timer_free(timer);
}

static void (*timer_op)(void);

static void timer_submitter(void)
{
	timer_op();
	atomic_store(&timer->dead, true);
	wake_notify(&timer->wake, INT64_MIN);
}

static uint64_t timer_explore(void (*op)(void), int before, int total, uint32_t preemptions)
{
	const struct scenario scenario = {
		.setup = timer_setup,
		.thread = { timer_submitter, timer_worker },
		.switched = timer_switched,
		.check = timer_check_all,
		.preemptions = preemptions,
	};
	uint64_t runs;

	timer_op = op;
	pending_before = before;
	timer_jobs = total;
	runs = sched_explore(&scenario, 5000000);
	CHECK(runs < 5000000);
	return runs;
}

static int64_t add_at;	/* after t0 */
static int which;

static void add(void)
{
	submit(pending_before, t0 + add_at);
}

/* The slot of a job that has just run is cleaned up and used again by the third. */
static void submit_thrice(void)
{
	submit(1, t0 + 6000);
	submit(2, t0 + 7000);
	submit(3, t0 + 8000);
}

static void cancel(int n)
{
	jobs[n].cancel = clockfix_cancel(timer, jobs[n].handle);
}

static void cancel_one(void)
{
	cancel(which);
}

/* The slot of the cancelled job is used again while the worker may still look at it. */
static void cancel_one_and_add(void)
{
	cancel(which);
	add();
}

static void add_and_cancel(void)
{
	add();
	cancel(pending_before);
}

/* in the past, and before, at, between and after the jobs there are */
static uint64_t at_all_places(void (*op)(void), int before, uint32_t preemptions)
{
	uint64_t runs = 0;

	for (add_at = -1000; add_at <= 5000 * before + 2500 && !check_failed;
	     add_at += add_at < 0 ? 3500 : 2500)
		runs += timer_explore(op, before, before + 1, preemptions);
	return runs;
}

static void jobs_are_submitted(void)
{
	uint64_t runs = timer_explore(submit_thrice, 1, 4, 2);

	for (int before = 0; before <= 3; before++)
		runs += at_all_places(add, before, before < 2 ? 3 : 2);
	printf("# %llu orders\n", (unsigned long long)runs);
}

static void jobs_are_cancelled(void)
{
	uint64_t runs = 0;

	for (int before = 1; before <= 3; before++) {
		for (which = 0; which < before && !check_failed; which++) {
			runs += timer_explore(cancel_one, before, before, before < 3 ? 3 : 2);
			if (before < 3)
				runs += at_all_places(cancel_one_and_add, before, 2);
		}
		if (before < 3)
			runs += at_all_places(add_and_cancel, before, 2);
	}
	printf("# %llu orders\n", (unsigned long long)runs);
}

static void schedule_periodic(void)
{
	struct clockfix_spec spec;

	clockfix_spec_init(&spec);
	spec.start = t0 + 2000;
	spec.period = 3000;
	spec.runs = 3;
	spec.fn = job;
	spec.arg = (void *)(intptr_t)(JOBS - 2);
	if (clockfix_schedule(timer, &spec, &jobs[JOBS - 2].handle))
		complain("not scheduled");
	step();
	clockfix_cancel(timer, jobs[JOBS - 2].handle);
}

/* A periodic job goes from the list into the worker's tree while it is being cancelled. */
static void periodic_cancelled_with_few_preemptions(void)
{
	uint64_t runs = timer_explore(schedule_periodic, 1, 1, 2);

	printf("# %llu orders\n", (unsigned long long)runs);
}

CHECK_MAIN(TEST(jobs_are_submitted), TEST(jobs_are_cancelled),
	   TEST(periodic_cancelled_with_few_preemptions))
