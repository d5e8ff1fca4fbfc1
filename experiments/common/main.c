// SPDX-License-Identifier: GPL-2.0-or-later
/* The measured loop. */
#define _GNU_SOURCE
#include "run.h"
#include "clock.h"
#include "quota.h"

#include <clockfix.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>

static volatile uint64_t sink;
static int timerfd;
static struct clockfix_sleeper *sleeper;
static int groups;

static __attribute__((noinline)) void multiply(double c[3][3], double a[3][3],
					       double b[3][3])
{
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			c[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] +
				  a[i][2] * b[2][j];
}

/*
 * Multiply 3x3 matrices for a fixed time, the paper's Table II, or so many times, the
 * job of its figures.
 */
static void work_matrix(uint64_t ticks, int64_t products, struct job *job)
{
	double a[3][3] = { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 10 } };
	double b[3][3] = { { 0, 1, 0 }, { 0, 0, 1 }, { 1, 0, 0 } };
	double c[3][3];
	uint64_t start = counter();
	int64_t done = 0;

	while (done < products || counter() - start < ticks) {
		multiply(c, a, b);
		multiply(a, c, b);
		done += 2;
	}
	job->products = done;
	sink = (uint64_t)a[0][0];
}

/* Arm a timer that never expires, and cancel it. */
static void arm_and_cancel(void)
{
	static const struct itimerspec far = { .it_value.tv_sec = 3600 }, never;

	timerfd_settime(timerfd, 0, &far, NULL);
	timerfd_settime(timerfd, 0, &never, NULL);
}

static bool work(void *self, struct job *job)
{
	struct run *run = self;
	const struct options *options = &run->options;

	if (options->arm)
		arm_and_cancel();
	if (!options->matrix && !options->products)
		return control_loop_work(&run->loop, job);
	work_matrix((uint64_t)(options->matrix * run->loop.ticks_per_ns), options->products, job);
	return true;
}

static void wait_until(void *unused, int64_t due)
{
	while (clockfix_sleep_until(sleeper, CLOCK_MONOTONIC, due))
		;
}

static void set_wait(char *word, void *to)
{
	struct run *run = to;

	if (!strcmp(word, "clockfix")) {
		run->periodic.wait = wait_until;
	} else if (strcmp(word, "nanosleep")) {
		fprintf(stderr, "control_loop: --wait: '%s': there are nanosleep and clockfix\n",
			word);
		exit(2);
	}
}

static int run_pinned(struct run *run)
{
	int ret = loop_pin(run->loads.cpu);

	if (!ret && run->periodic.wait)
		ret = clockfix_sleeper_create(&sleeper, NULL);
	if (!ret)
		ret = run_jobs(run);
	clockfix_sleeper_destroy(sleeper);
	return ret;
}

int main(int argc, char **argv)
{
	struct run run = {
		.options = {
			.jobs = 1000, .warmup = LOOP_WARM_UP, .priority = LOOP_PRIORITY,
		},
		.loads.seed = 1,
		.periodic = { .period = LOOP_PERIOD, .self = &run, .work = work },
	};
	struct options *o = &run.options;
	const struct opt opts[] = {
		JOB_OPTIONS(&run),
		{ "gap", "NS", "a round of work longer by this was interrupted (at least 200)",
		  OPT_WIDE(&o->gap, 1, NSEC_PER_SEC) },
		{ "matrix", "NS", "multiply 3x3 matrices for NS in each job instead",
		  OPT_WIDE(&o->matrix, 1, NSEC_PER_SEC) },
		{ "products", "N", "multiply 3x3 matrices N times in each job instead",
		  OPT_WIDE(&o->products, 1, NSEC_PER_SEC) },
		{ "spare", NULL, "count the work that a SCHED_IDLE task can do",
		  OPT_FLAG(&run.loads.spare) },
		{ "arm", NULL, "arm and cancel a timerfd at the beginning of each job",
		  OPT_FLAG(&o->arm) },
		{ "wait", "HOW", "for the next job: nanosleep, or clockfix (nanosleep)",
		  OPT_TEXT(set_wait, &run) },
		{ "quota", "N", "ordinary loads in N cgroups, each in the other, with cpu.max (0)",
		  OPT_NUMBER(&groups, 0, 100) },
		{ "calibrate", NULL, "print the rounds of work that take 300 us, the usual --work",
		  OPT_FLAG(&o->calibrate) },
		{ }
	};
	int ret;

	parse_options(argc, argv, opts,
		      "Run a periodic SCHED_FIFO job next to loads that set timers; leave summary.csv,\n"
		      "jobs.csv, tasks.csv and releases.csv in the working directory.",
		      run_describe_loads);
	run.loop.cpu = run.loads.cpu;
	timerfd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	ret = timerfd < 0 ? -errno : control_loop_enter(&run.loop);
	if (!ret)
		ret = control_loop_calibrate(&run.loop);
	if (ret) {
		fprintf(stderr, "%s: FIFO %d on CPU %d: %s\n", program_invocation_short_name,
			LOOP_PRIORITY, run.loads.cpu, strerror(-ret));
		return 1;
	}
	control_loop_leave();	/* for loads that may run anywhere */
	if (o->gap)
		run.loop.threshold = run.loop.round + o->gap;
	if (o->calibrate) {
		printf("%" PRIu64 "\n", run.loop.rounds);
		return 0;
	}
	if (groups && !(run.loads.group = quota_groups(groups))) {
		fprintf(stderr, "control_loop: cgroups: %m\n");
		return 1;
	}
	run_plan(&run);
	return run_measure(&run, run_pinned) ? 1 : 0;
}
