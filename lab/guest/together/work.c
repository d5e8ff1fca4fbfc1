// SPDX-License-Identifier: GPL-2.0-or-later
/* The job: waits for its instant, notes the time, works, notes the time. */
#define _GNU_SOURCE
#include "together.h"
#include "clock.h"
#include "pause.h"

#include <clockfix.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Released half-way between two ticks of the scheduler, as in ../response. */
#define ALIGN_NS	(20 * NSEC_PER_MSEC)
#define OFFSET_NS	(500 * NSEC_PER_USEC)
#define LEAD_NS		(40 * NSEC_PER_MSEC)

/* So long, about 10 us, the job computes between two pauses. */
#define ROUNDS_OF_TURN	128

static volatile uint64_t sink;

static __attribute__((noinline)) void compute(int64_t rounds)
{
	uint64_t x = sink;

	for (int64_t i = 0; i < rounds * 16; i++)
		x = x * 6364136223846793005ull + 1442695040888963407ull;
	sink = x;
}

/* If there are other CPUs, they have turns meanwhile. */
static void work(const struct options *options)
{
	int64_t rounds = options->work;

	for (; options->anywhere && rounds > ROUNDS_OF_TURN; rounds -= ROUNDS_OF_TURN) {
		compute(ROUNDS_OF_TURN);
		pause_cpu();
	}
	compute(rounds);
}

/*
 * System calls that do nothing: who counts the kernel's instructions is told by them where
 * the work begins and ends. All that the kernel executes in between is what delays it.
 */
static void mark_begin(void)
{
	syscall(SYS_getegid);
}

static void mark_end(void)
{
	syscall(SYS_getpgid, 0);
}

static void wait_until(struct clockfix_sleeper *sleeper, int64_t due)
{
	if (!sleeper)
		sleep_until(due);
	else
		while (clockfix_sleep_until(sleeper, CLOCK_MONOTONIC, due))
			;
}

static void set_time_zero(struct run *run)
{
	struct shared *shared = run->shared;
	int64_t zero = clock_ns() + LEAD_NS;

	shared->zero = zero - zero % ALIGN_NS + ALIGN_NS + OFFSET_NS;
	shared->stop = shared->zero +
		       (run->options.warmup + run->options.jobs) * run->options.period;
	atomic_store(&shared->go, 1);
	syscall(SYS_futex, &shared->go, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void run_one(const struct run *run, struct clockfix_sleeper *sleeper, int64_t due,
		    struct job *job)
{
	wait_until(sleeper, due);
	job->latency = clock_ns() - due;
	mark_begin();
	work(&run->options);
	mark_end();
	job->response = clock_ns() - due;
	job->due = due - run->shared->zero;
}

int work_run_all(struct together *together)
{
	struct run *run = &together->run;
	const struct options *options = &run->options;
	struct task self = { .policy = SCHED_FIFO, .priority = options->priority };
	struct clockfix_sleeper *sleeper = NULL;
	struct job unrecorded = { 0 };
	int64_t due, start;
	int ret;

	ret = task_pin(options->cpu);
	if (ret)
		return ret;
	if (together->shield) {
		ret = shield_cpu(options->cpu);
		if (ret)
			return ret;
	}
	prctl(PR_SET_TIMERSLACK, 1UL);
	if (together->clockfix)
		ret = clockfix_sleeper_create(&sleeper, NULL);
	if (!ret)
		ret = task_become(&self);
	if (ret)
		goto out;
	set_time_zero(run);
	due = run->shared->zero;
	for (int i = 0; i < options->warmup; i++, due += options->period)
		run_one(run, sleeper, due, &unrecorded);
	record_counters(run, false);
	recording();
	start = clock_ns();
	for (int i = 0; i < options->jobs; i++, due += options->period)
		run_one(run, sleeper, due, &run->jobs[i]);
	run->window = clock_ns() - start;
	recording();
	record_counters(run, true);
	self = (struct task){ .policy = SCHED_OTHER };
	ret = task_become(&self);
out:
	clockfix_sleeper_destroy(sleeper);
	if (together->shield)
		shield_end();
	return ret;
}
