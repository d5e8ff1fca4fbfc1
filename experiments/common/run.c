// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For every program that has a job next to loads: the order of things, and what is left behind in
 * summary.csv, jobs.csv, tasks.csv and releases.csv.
 */
#define _GNU_SOURCE
#include "run.h"
#include "clock.h"
#include "csv.h"
#include "interrupts.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LEAD_NS (40 * NSEC_PER_MSEC)

void run_add(char *text, void *to)
{
	struct run *run = to;

	if (run->description_count < MAX_LOADS)
		run->descriptions[run->description_count++] = text;
}

void run_describe_loads(FILE *out)
{
	fputs("\nLoads:\n", out);
	loads_describe(out);
	fputs("Settings of sleepers: priority=N (70), or spread over priorities 1 to 90; sync:\n"
	      "released together with the job; periods=bosch (1 to 1000 ms), long (from 5 ms),\n"
	      "drift or long+drift (none a multiple of the job's), or period=NS for all.\n", out);
}

static void give_up(const char *what, int status)
{
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
	exit(status);
}

void run_plan(struct run *run)
{
	const struct options *options = &run->options;

	if (options->work)
		run->loop.rounds = options->work;
	run->loads.span = (options->warmup + options->jobs) * run->periodic.period;
	run->jobs = shared_alloc(options->jobs * sizeof(*run->jobs));
	if (!run->jobs || loads_plan(&run->loads))
		give_up("no memory for samples", 1);
	for (int i = 0; i < run->description_count; i++)
		if (loads_add(&run->loads, run->descriptions[i]))
			give_up("--load: no such load, or too many tasks; see --help", 2);
}

static uint64_t context_switches(void)
{
	FILE *file = fopen("/proc/stat", "re");
	uint64_t n = 0;
	char line[4096];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "ctxt %" SCNu64, &n) == 1)
			break;
	if (file)
		fclose(file);
	return n;
}

static void record_counters(struct run *run, bool end)
{
	uint64_t interrupts = timer_interrupts();
	uint64_t switches = context_switches();

	run->timer_interrupts = end ? interrupts - run->timer_interrupts : interrupts;
	run->switches = end ? switches - run->switches : switches;
}

static void write_summary(const struct run *run)
{
	FILE *out = csv_create("summary.csv", "name,value");

	fprintf(out, "jobs,%d\n", run->options.jobs);
	fprintf(out, "period_ns,%" PRId64 "\n", run->periodic.period);
	fprintf(out, "work_rounds,%" PRIu64 "\n", run->loop.rounds);
	fprintf(out, "round_ticks,%.0f\n", run->loop.round * run->loop.ticks_per_ns);
	fprintf(out, "ticks_per_ns,%.9f\n", run->loop.ticks_per_ns);
	fprintf(out, "gap_ns,%.0f\n", run->loop.threshold - run->loop.round);
	fprintf(out, "window_ns,%" PRId64 "\n", run->window);
	fprintf(out, "spare_rounds,%" PRIu64 "\n", run->spare_rounds);
	fprintf(out, "timer_interrupts,%" PRIu64 "\n", run->timer_interrupts);
	fprintf(out, "context_switches,%" PRIu64 "\n", run->switches);
	csv_finish(out, "summary.csv");
}

static void write_jobs(const struct run *run)
{
	FILE *out = csv_create("jobs.csv",
			       "due_ns,latency_ns,response_ns,interruptions,stolen_ns,products");

	for (int i = 0; i < run->options.jobs; i++) {
		const struct job *job = &run->jobs[i];

		fprintf(out, "%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRIu32 ",%" PRIu64
			",%" PRId64 "\n",
			job->due - run->loads.shared->zero, job->latency, job->response,
			job->interruptions, job->taken, job->products);
	}
	csv_finish(out, "jobs.csv");
}

static void write_tasks(const struct run *run)
{
	FILE *out = csv_create("tasks.csv",
			       "task,kind,policy,priority,period_ns,phase_ns,expected,served,early");

	for (int i = 0; i < run->loads.task_count; i++) {
		const struct load_task *task = &run->loads.tasks[i];

		fprintf(out, "%d,%s,%d,%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
			",%" PRId64 "\n", i, task->kind, task->policy, task->priority,
			task->period, task->phase, task->expected, task->served, task->early);
	}
	csv_finish(out, "tasks.csv");
}

static void write_releases(const struct run *run)
{
	FILE *out = csv_create("releases.csv", "task,due_ns,lateness_ns,response_ns");

	for (int i = 0; i < run->loads.task_count; i++) {
		const struct load_task *task = &run->loads.tasks[i];

		for (int64_t k = 0; task->releases && k < task->served; k++)
			fprintf(out, "%d,%" PRId64 ",%" PRId64 ",%" PRId64 "\n", i,
				task->releases[k].due, task->releases[k].lateness,
				task->releases[k].response);
	}
	csv_finish(out, "releases.csv");
}

static void record_write(const struct run *run)
{
	write_summary(run);
	write_jobs(run);
	if (!run->loads.task_count)
		return;
	write_tasks(run);
	write_releases(run);
}

int run_jobs(struct run *run)
{
	const struct options *options = &run->options;
	const struct load_task job = { .policy = SCHED_FIFO, .priority = options->priority };
	const struct load_task ordinary = { .policy = SCHED_OTHER };
	int64_t zero, start;
	int ret = task_become(&job);

	if (ret)
		return ret;
	zero = loads_zero(LEAD_NS);
	loads_go(&run->loads, zero, zero + run->loads.span);
	run->periodic.due = zero;
	run->periodic.catches_up = true;
	periodic_run(&run->periodic, NULL, options->warmup);

	record_counters(run, false);
	recording();
	run->spare_rounds = atomic_load(&run->loads.shared->spare);
	start = clock_ns();
	periodic_run(&run->periodic, run->jobs, options->jobs);
	run->spare_rounds = atomic_load(&run->loads.shared->spare) - run->spare_rounds;
	run->window = clock_ns() - start;
	recording();
	record_counters(run, true);
	return task_become(&ordinary);
}

int run_measure(struct run *run, int (*job)(struct run *))
{
	int ret;

	if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
		ret = -errno;
		fprintf(stderr, "%s: cannot lock memory: %m; run it as root, or raise 'ulimit -l'\n",
			program_invocation_short_name);
		return ret;
	}
	ret = loads_start(&run->loads);
	if (!ret)
		ret = loads_wait_ready(&run->loads);
	if (ret)
		fprintf(stderr, "%s: the loads could not be set up: %s\n",
			program_invocation_short_name, strerror(-ret));
	if (!ret)
		ret = job(run);
	if (!ret)
		ret = loads_finish(&run->loads);
	if (!ret)
		record_write(run);
	loads_end(&run->loads);
	return ret;
}
