// SPDX-License-Identifier: GPL-2.0-or-later
/* The job: waits for its instant, notes the time, works, notes the time. */
#define _GNU_SOURCE
#include "together.h"
#include "clock.h"
#include "isolate.h"
#include "pause.h"

#include <clockfix.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

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
static void work(const struct run *run)
{
	int64_t rounds = run->options.work;

	for (; run->loads.anywhere && rounds > ROUNDS_OF_TURN; rounds -= ROUNDS_OF_TURN) {
		compute(ROUNDS_OF_TURN);
		pause_cpu();
	}
	compute(rounds);
}

/*
 * System calls that do nothing: they tell the plugin that counts instructions where
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

static void run_one(struct run *run, int64_t due, struct job *job)
{
	wait_until(together_of(run)->sleeper, due);
	job->latency = clock_ns() - due;
	mark_begin();
	work(run);
	mark_end();
	job->response = clock_ns() - due;
	job->due = due - run->loads.shared->zero;
}

int work_run_all(struct run *run)
{
	struct together *together = together_of(run);
	const struct options *options = &run->options;
	struct load_task self = { .policy = SCHED_FIFO, .priority = options->priority };
	int ret;

	if (together->isolate)
		ret = isolate_cpu(run->loads.cpu) ?: isolate_enter(run->loads.cpu);
	else
		ret = loop_pin(run->loads.cpu);
	if (ret)
		return ret;
	prctl(PR_SET_TIMERSLACK, 1UL);
	if (together->clockfix)
		ret = clockfix_sleeper_create(&together->sleeper, NULL);
	if (!ret)
		ret = task_become(&self);
	if (!ret)
		ret = run_jobs(run, run_one);
	clockfix_sleeper_destroy(together->sleeper);
	if (together->isolate)
		isolate_end();
	return ret;
}
