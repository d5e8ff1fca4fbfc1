// SPDX-License-Identifier: GPL-2.0-or-later
/* The order of things, for every program that has a job next to loads. */
#define _GNU_SOURCE
#include "response.h"
#include "clock.h"

#include <errno.h>
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

	run->loads.span = (options->warmup + options->jobs) * options->period;
	run->jobs = shared_alloc(options->jobs * sizeof(*run->jobs));
	if (!run->jobs || loads_plan(&run->loads))
		give_up("no memory for samples", 1);
	for (int i = 0; i < run->description_count; i++)
		if (loads_add(&run->loads, run->descriptions[i]))
			give_up("--load: no such load, or too many tasks; see --help", 2);
}

static void begin(struct run *run)
{
	int64_t zero = loads_zero(LEAD_NS);

	loads_go(&run->loads, zero, zero + run->loads.span);
}

int run_jobs(struct run *run, void (*one)(struct run *run, int64_t due, struct job *job))
{
	const struct options *options = &run->options;
	const struct load_task ordinary = { .policy = SCHED_OTHER };
	struct job unrecorded = { 0 };
	int64_t due, start;

	begin(run);
	due = run->loads.shared->zero;
	for (int i = 0; i < options->warmup; i++, due += options->period)
		one(run, due, &unrecorded);

	record_counters(run, false);
	recording();
	run->spare_rounds = atomic_load(&run->loads.shared->spare);
	start = clock_ns();
	for (int i = 0; i < options->jobs; i++, due += options->period)
		one(run, due, &run->jobs[i]);
	run->spare_rounds = atomic_load(&run->loads.shared->spare) - run->spare_rounds;
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
	ret = loads_start(&run->loads);
	if (!ret && meanwhile)
		ret = meanwhile(run);
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
