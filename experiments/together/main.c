// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "together.h"
#include "clock.h"

#include <sched.h>

static void usage(FILE *out)
{
	fprintf(out,
		"Usage: together --work=ROUNDS [OPTION]...\n"
		"Run a periodic SCHED_FIFO job next to loads, waiting for its instants in one way or\n"
		"another; leave summary.csv, jobs.csv, tasks.csv and releases.csv in the working\n"
		"directory.\n"
		"\n"
		"  -x, --clockfix      wait by libclockfix, not by clock_nanosleep\n"
		"  -n, --jobs=N        jobs to record (1000)\n"
		"  -w, --warmup=N      jobs before these (300)\n"
		"  -p, --period=NS     a job's period (1000000)\n"
		"  -W, --work=ROUNDS   work in a job\n"
		"  -P, --priority=N    the job's SCHED_FIFO priority (99)\n"
		"  -c, --cpu=N         the job's CPU (0)\n"
		"  -H, --hogs=N        ordinary processes that take the CPU (0)\n"
		"  -C, --spinners=N    ordinary processes that only compute (0)\n"
		"  -a, --anywhere      loads may run on every CPU (on the job's only)\n"
		"  -i, --isolate       isolate the job's CPU (timershield isolate)\n"
		"  -l, --load=KIND[:n=N][,SETTING]...   see below; may be repeated\n"
		"  -S, --seed=N        seed of random periods and phases (1)\n"
		"\n"
		"Loads:\n");
	loads_describe(out);
	fprintf(out, "\nExit status: 0 measured, 1 failed, 2 wrong usage.\n");
}

int main(int argc, char **argv)
{
	struct together together = {
		.run.ticks_per_ns = 1,
		.run.options = {
			.jobs = 1000, .warmup = 300, .priority = 99, .period = NSEC_PER_MSEC,
		},
		.run.loads.seed = 1,
	};
	const struct opt opts[] = {
		JOB_OPTIONS(&together.run),
		{ 'x', "clockfix", OPT_FLAG(&together.clockfix) },
		{ 'H', "hogs", OPT_NUMBER(&together.hogs, 0, 100) },
		{ 'C', "spinners", OPT_NUMBER(&together.spinners, 0, 100) },
		{ 'i', "isolate", OPT_FLAG(&together.isolate) },
		{ }
	};

	parse_options(argc, argv, opts, usage);
	if (!together.run.options.work) {
		fprintf(stderr, "together: --work is missing\n");
		return 2;
	}
	run_plan(&together.run);
	return run_measure(&together.run, hogs_start, work_run_all) ? 1 : 0;
}
