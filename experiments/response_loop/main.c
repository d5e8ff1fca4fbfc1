// SPDX-License-Identifier: GPL-2.0-or-later
/* The measured loop. */
#define _GNU_SOURCE
#include "response.h"
#include "clock.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <sys/timerfd.h>

#define CALIBRATION_ROUNDS 20000
#define CALIBRATION_RUNS 5
#define WORK_NS (300 * NSEC_PER_USEC)

static volatile uint64_t sink;

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

static void job_calibrate(struct run *run)
{
	int64_t best = INT64_MAX;

	run->round_ticks = shortest_round(CALIBRATION_ROUNDS);
	run->ticks_per_ns = measure_ticks_per_ns();
	for (int i = 0; i < CALIBRATION_RUNS; i++) {
		struct interruptions unused = { 0 };
		int64_t start = clock_ns(), took;

		work_rounds(CALIBRATION_ROUNDS, UINT64_MAX, 0, &unused);
		took = clock_ns() - start;
		if (took < best)
			best = took;
	}
	if (!run->options.work)
		run->options.work = WORK_NS * CALIBRATION_ROUNDS / best;
}

/* Arm a timer that never expires, and cancel it. */
static void arm_and_cancel(int timerfd)
{
	static const struct itimerspec far = { .it_value.tv_sec = 3600 }, never;

	timerfd_settime(timerfd, 0, &far, NULL);
	timerfd_settime(timerfd, 0, &never, NULL);
}

static void run_one(struct run *run, int64_t due, struct job *job)
{
	const struct options *options = &run->options;
	uint64_t gap = run->round_ticks + (uint64_t)(options->gap * run->ticks_per_ns);

	sleep_until(due);
	job->latency = clock_ns() - due;
	if (options->arm)
		arm_and_cancel(run->timerfd);
	if (options->matrix || options->products)
		work_matrix((uint64_t)(options->matrix * run->ticks_per_ns), options->products,
			    job);
	else
		work_rounds(options->work, gap, run->round_ticks, &job->seen);
	job->response = clock_ns() - due;
	job->due = due - run->loads.shared->zero;
}

static int job_run_all(struct run *run)
{
	const struct options *options = &run->options;
	struct load_task self = { .policy = SCHED_FIFO, .priority = options->priority };
	int ret;

	ret = loop_pin(run->loads.cpu);
	if (ret)
		return ret;
	ret = task_become(&self);
	if (ret)
		return ret;
	run->timerfd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (run->timerfd < 0)
		return -errno;
	return run_jobs(run, run_one);
}

int main(int argc, char **argv)
{
	struct run run = {
		.options = {
			.jobs = 1000, .warmup = 20, .priority = 99, .gap = 200,
			.period = NSEC_PER_MSEC,
		},
		.loads.seed = 1,
	};
	struct options *o = &run.options;
	const struct opt opts[] = {
		JOB_OPTIONS(&run),
		{ "gap", "NS", "pauses longer than this are interruptions (200)",
		  OPT_WIDE(&o->gap, 1, NSEC_PER_SEC) },
		{ "matrix", "NS", "multiply 3x3 matrices for NS in each job instead",
		  OPT_WIDE(&o->matrix, 1, NSEC_PER_SEC) },
		{ "products", "N", "multiply 3x3 matrices N times in each job instead",
		  OPT_WIDE(&o->products, 1, NSEC_PER_SEC) },
		{ "spare", NULL, "count the work that a SCHED_IDLE task can do",
		  OPT_FLAG(&run.loads.spare) },
		{ "arm", NULL, "arm and cancel a timerfd at the beginning of each job",
		  OPT_FLAG(&o->arm) },
		{ "calibrate", NULL, "print the rounds of work that take 300 us, the usual --work",
		  OPT_FLAG(&o->calibrate) },
		{ }
	};

	parse_options(argc, argv, opts,
		      "Run a periodic SCHED_FIFO job next to loads that set timers; leave summary.csv,\n"
		      "jobs.csv, tasks.csv and releases.csv in the working directory.",
		      run_describe_loads);
	if (loop_pin(run.loads.cpu))
		return 1;
	job_calibrate(&run);
	if (run.options.calibrate) {
		printf("%" PRId64 "\n", run.options.work);
		return 0;
	}
	run_plan(&run);
	return run_measure(&run, NULL, job_run_all) ? 1 : 0;
}
