// SPDX-License-Identifier: GPL-2.0-or-later
/* The order of things, for every program that has a job next to loads. */
#define _GNU_SOURCE
#include "response.h"
#include "clock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_TASKS 20000
/*
 * Jobs are released half-way between two milliseconds, so that no scheduler
 * tick, which comes at multiples of 1, 4 or 10 ms, falls into one.
 */
#define ALIGN_NS (20 * NSEC_PER_MSEC)
#define OFFSET_NS (500 * NSEC_PER_USEC)
#define LEAD_NS (40 * NSEC_PER_MSEC)

void loads_add(char *text, void *to)
{
	struct loads *loads = to;

	if (loads->count < MAX_LOADS && !load_parse(text, &loads->load[loads->count++]))
		return;
	fprintf(stderr, "%s: --load=%s: no such load; see --help\n",
		program_invocation_short_name, text);
	exit(2);
}

void run_plan(struct run *run, const struct loads *loads)
{
	run->shared = shared_alloc(sizeof(*run->shared));
	run->task_room = MAX_TASKS;
	run->tasks = shared_alloc(MAX_TASKS * sizeof(*run->tasks));
	run->jobs = shared_alloc(run->options.jobs * sizeof(*run->jobs));
	run->children = calloc(MAX_TASKS + 1, sizeof(*run->children));
	if (!run->children) {
		fprintf(stderr, "%s: no memory\n", program_invocation_short_name);
		exit(1);
	}
	for (int i = 0; i < loads->count; i++)
		if (load_plan(run, &loads->load[i]))
			exit(2);
}

static void set_time_zero(struct run *run)
{
	struct shared *shared = run->shared;
	int64_t jobs = run->options.warmup + run->options.jobs;
	int64_t zero = clock_ns() + LEAD_NS;

	shared->zero = zero - zero % ALIGN_NS + ALIGN_NS + OFFSET_NS;
	shared->stop = shared->zero + jobs * run->options.period;
	atomic_store(&shared->go, 1);
	syscall(SYS_futex, &shared->go, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

int run_jobs(struct run *run, void (*one)(struct run *run, int64_t due, struct job *job))
{
	const struct options *options = &run->options;
	struct task ordinary = { .policy = SCHED_OTHER };
	struct job unrecorded = { 0 };
	int64_t due, start;

	set_time_zero(run);
	due = run->shared->zero;
	for (int i = 0; i < options->warmup; i++, due += options->period)
		one(run, due, &unrecorded);

	record_counters(run, false);
	recording();
	run->spare_rounds = atomic_load(&run->shared->spare);
	start = clock_ns();
	for (int i = 0; i < options->jobs; i++, due += options->period)
		one(run, due, &run->jobs[i]);
	run->spare_rounds = atomic_load(&run->shared->spare) - run->spare_rounds;
	run->window = clock_ns() - start;
	recording();
	record_counters(run, true);
	return task_become(&ordinary);
}

int run_measure(struct run *run, int (*meanwhile)(struct run *), int (*job)(struct run *))
{
	int ret;

	if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
		ret = -errno;
		fprintf(stderr, "%s: cannot lock memory: %m; run it as root, or raise 'ulimit -l'\n",
			program_invocation_short_name);
		return ret;
	}
	ret = load_start(run);
	if (!ret && meanwhile)
		ret = meanwhile(run);
	if (!ret)
		ret = load_wait_ready(run);
	if (!ret)
		ret = job(run);
	if (!ret)
		ret = load_finish(run);
	load_kill(run);
	if (!ret)
		record_write(run);
	return ret;
}
