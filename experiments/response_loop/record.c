// SPDX-License-Identifier: GPL-2.0-or-later
/* What is left behind: summary.csv, jobs.csv, tasks.csv, releases.csv. */
#define _GNU_SOURCE
#include "response.h"
#include "csv.h"
#include "interrupts.h"

#include <inttypes.h>

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

void record_counters(struct run *run, bool end)
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
	fprintf(out, "period_ns,%" PRId64 "\n", run->options.period);
	fprintf(out, "work_rounds,%" PRId64 "\n", run->options.work);
	fprintf(out, "round_ticks,%" PRId64 "\n", run->round_ticks);
	fprintf(out, "ticks_per_ns,%.9f\n", run->ticks_per_ns);
	fprintf(out, "gap_ns,%" PRId64 "\n", run->options.gap);
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

		fprintf(out, "%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRIu64 ",%.0f,%" PRId64 "\n",
			job->due, job->latency, job->response, job->seen.count,
			job->seen.ticks / run->ticks_per_ns, job->products);
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

void record_write(const struct run *run)
{
	write_summary(run);
	write_jobs(run);
	if (!run->loads.task_count)
		return;
	write_tasks(run);
	write_releases(run);
}
