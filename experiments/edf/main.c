// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Periodic SCHED_DEADLINE tasks that compete for the CPUs. Each of their jobs looks at
 * the CPU's counter after every small round of work: a gap that is longer than a
 * round is an interruption, unless another job preempted it there.
 */
#define _GNU_SOURCE
#include "clock.h"
#include "csv.h"
#include "options.h"
#include "rounds.h"
#include "tasks.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE	6
#endif
#define LEAD_NS		(50 * NSEC_PER_MSEC)
#define PERIOD_FROM	(10 * NSEC_PER_MSEC)	/* to four times that */
#define SPARE_NS	(30 * NSEC_PER_USEC)	/* of runtime beyond options.runtime */
#define MAX_GAPS	(1 << 20)
#define CALIBRATION_ROUNDS 20000

struct deadline_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

struct options {
	int tasks;
	int percent;		/* of a CPU, that all tasks' work takes */
	int runtime;		/* percent of its work that a task asks for */
	int64_t length;		/* of what is recorded */
	int64_t gap;		/* a longer pause is an interruption */
	int64_t seed;
};

struct job {
	int64_t due, start, end;	/* since time zero */
};

struct task {
	pthread_t thread;
	int64_t period, phase, rounds, work;
	struct job *jobs;
	int64_t count;
};

struct gap {
	int task;
	int64_t job, begin, length;
	bool preempted;
};

static struct options options = {
	.tasks = 10, .percent = 50, .runtime = 150, .length = 2 * NSEC_PER_SEC, .gap = 200, .seed = 1,
};
static pthread_barrier_t ready, planned;
static int64_t zero;
static uint64_t round_ticks;
static double ticks_per_ns;
static struct task *tasks;
static struct gap *gaps;
static int64_t gap_count;
static volatile uint64_t sink;

static int64_t switched_out(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

static void note_gap(const struct task *task, uint64_t ticks, int64_t *switches)
{
	int64_t length = (int64_t)((double)ticks / ticks_per_ns), end = clock_ns();
	int64_t before = *switches, n = __atomic_fetch_add(&gap_count, 1, __ATOMIC_RELAXED);

	*switches = switched_out();
	if (n >= MAX_GAPS)
		return;
	gaps[n] = (struct gap){ task - tasks, task->count, end - length - zero, length,
				*switches != before };
}

static void work(const struct task *task)
{
	uint64_t gap = round_ticks + (uint64_t)(options.gap * ticks_per_ns);
	int64_t switches = switched_out();
	uint64_t before = counter(), x = before;

	for (int64_t i = 0; i < task->rounds; i++) {
		uint64_t now;

		x = round_of_work(x);
		now = counter();
		if (now - before > gap) {
			note_gap(task, now - before, &switches);
			now = counter();
		}
		before = now;
	}
	sink = x;
}

static void *run_task(void *argument)
{
	struct task *task = argument;
	struct deadline_attr attr = {
		.size = sizeof(attr), .policy = SCHED_DEADLINE,
		.runtime = task->work * options.runtime / 100 + SPARE_NS,
		.deadline = task->period, .period = task->period,
	};

	if (syscall(SYS_sched_setattr, 0, &attr, 0)) {
		failed("sched_setattr");
		exit(1);
	}
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&planned);
	for (int64_t due = task->phase; due < options.length; due += task->period) {
		struct job *job = &task->jobs[task->count];

		sleep_until(zero + due);
		*job = (struct job){ .due = due, .start = clock_ns() - zero };
		work(task);
		job->end = clock_ns() - zero;
		task->count++;
	}
	return NULL;
}

/* Periods of 10 to 40 ms, none a multiple of another or of the tick; one share each. */
static void plan(struct task *task)
{
	task->period = PERIOD_FROM + (int64_t)(drand48() * 3 * PERIOD_FROM);
	task->phase = (int64_t)(drand48() * task->period);
	task->work = task->period * options.percent / 100 / options.tasks;
	task->rounds = (int64_t)(task->work * ticks_per_ns / round_ticks);
	task->jobs = calloc(options.length / task->period + 2, sizeof(*task->jobs));
	if (!task->jobs)
		exit(1);
}

static void write_results(void)
{
	FILE *file = csv_create("summary.csv", "name,value");

	fprintf(file, "tasks,%d\nlength_ns,%" PRId64 "\ngaps,%" PRId64 "\nzero_ns,%" PRId64 "\n",
		options.tasks, options.length, gap_count, zero);
	csv_finish(file, "summary.csv");
	file = csv_create("tasks.csv", "task,period_ns,work_ns,jobs");
	for (int i = 0; i < options.tasks; i++)
		fprintf(file, "%d,%" PRId64 ",%" PRId64 ",%" PRId64 "\n", i, tasks[i].period,
			tasks[i].work, tasks[i].count);
	csv_finish(file, "tasks.csv");
	file = csv_create("jobs.csv", "task,due_ns,start_ns,end_ns");
	for (int i = 0; i < options.tasks; i++)
		for (int64_t k = 0; k < tasks[i].count; k++)
			fprintf(file, "%d,%" PRId64 ",%" PRId64 ",%" PRId64 "\n", i,
				tasks[i].jobs[k].due, tasks[i].jobs[k].start,
				tasks[i].jobs[k].end);
	csv_finish(file, "jobs.csv");
	file = csv_create("gaps.csv", "task,job,begin_ns,length_ns,preempted");
	for (int64_t i = 0; i < gap_count; i++)
		fprintf(file, "%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",%d\n", gaps[i].task,
			gaps[i].job, gaps[i].begin, gaps[i].length, gaps[i].preempted);
	csv_finish(file, "gaps.csv");
}

static void usage(FILE *out)
{
	fprintf(out,
		"Usage: edf [OPTION]...\n"
		"Run periodic SCHED_DEADLINE tasks; leave summary.csv, tasks.csv, jobs.csv and\n"
		"gaps.csv in the working directory.\n"
		"\n"
		"  -n, --tasks=N       number of tasks (10)\n"
		"  -u, --percent=N     percentage of a CPU that their work takes together (50)\n"
		"  -r, --runtime=N     runtime of a task, in percent of its work; 30 us are added (150)\n"
		"  -t, --length=NS     how long to record (2000000000)\n"
		"  -g, --gap=NS        pauses longer than this are interruptions (200)\n"
		"  -S, --seed=N        seed of random periods and phases (1)\n"
		"\n"
		"Exit status: 0 measured, 1 failed, 2 wrong usage.\n");
}

int main(int argc, char **argv)
{
	const struct opt opts[] = {
		{ 'n', "tasks", OPT_NUMBER(&options.tasks, 1, 1000) },
		{ 'u', "percent", OPT_NUMBER(&options.percent, 1, 400) },
		{ 'r', "runtime", OPT_NUMBER(&options.runtime, 100, 1000) },
		{ 't', "length", OPT_WIDE(&options.length, NSEC_PER_MSEC, 60 * NSEC_PER_SEC) },
		{ 'g', "gap", OPT_WIDE(&options.gap, 1, NSEC_PER_SEC) },
		{ 'S', "seed", OPT_WIDE(&options.seed, 0, INT64_MAX) },
		{ }
	};
	pthread_attr_t small;

	parse_options(argc, argv, opts, usage);
	round_ticks = shortest_round(CALIBRATION_ROUNDS);
	ticks_per_ns = measure_ticks_per_ns();
	srand48(options.seed);
	tasks = calloc(options.tasks, sizeof(*tasks));
	gaps = calloc(MAX_GAPS, sizeof(*gaps));
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * 1024);
	if (!tasks || !gaps || pthread_barrier_init(&ready, NULL, options.tasks + 1) ||
	    pthread_barrier_init(&planned, NULL, options.tasks + 1))
		return 1;
	for (int i = 0; i < options.tasks; i++) {
		plan(&tasks[i]);
		if (pthread_create(&tasks[i].thread, &small, run_task, &tasks[i]))
			return 1;
	}
	if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
		failed("mlockall");
		return 1;
	}
	pthread_barrier_wait(&ready);
	zero = clock_ns() + LEAD_NS;
	pthread_barrier_wait(&planned);
	sleep_until(zero);
	recording();
	sleep_until(zero + options.length);
	for (int i = 0; i < options.tasks; i++)
		pthread_join(tasks[i].thread, NULL);
	recording();
	if (gap_count > MAX_GAPS) {
		fprintf(stderr, "edf: more than %d gaps\n", MAX_GAPS);
		return 1;
	}
	write_results();
	return 0;
}
