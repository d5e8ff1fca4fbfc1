// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "response.h"
#include "clock.h"

#include <inttypes.h>
#include <sched.h>

static void usage(FILE *out)
{
	fprintf(out,
		"Usage: response_loop [OPTION]...\n"
		"Run a periodic SCHED_FIFO job next to loads that set timers; leave summary.csv,\n"
		"jobs.csv, tasks.csv and releases.csv in the working directory.\n"
		"\n"
		"  -n, --jobs=N        jobs to record (1000)\n"
		"  -w, --warmup=N      jobs before these (20)\n"
		"  -p, --period=NS     a job's period (1000000)\n"
		"  -W, --work=ROUNDS   work in a job (as many as take 300 us)\n"
		"  -P, --priority=N    the job's SCHED_FIFO priority (99)\n"
		"  -c, --cpu=N         CPU for job and loads (0)\n"
		"  -g, --gap=NS        pauses longer than this are interruptions (200)\n"
		"  -m, --matrix=NS     multiply 3x3 matrices for NS in each job instead\n"
		"  -x, --products=N    multiply 3x3 matrices N times in each job instead\n"
		"  -l, --load=KIND[:n=N][,SETTING]...   see below; may be repeated\n"
		"  -s, --spare         count the work that a SCHED_IDLE task can do\n"
		"  -r, --arm           arm and cancel a timerfd at the beginning of each job\n"
		"  -a, --anywhere      loads may run on every CPU (on the job's only)\n"
		"  -S, --seed=N        seed of random periods and phases (1)\n"
		"  -C, --calibrate     print the rounds of work that take 300 us, and exit\n"
		"\n"
		"Loads:\n");
	loads_describe(out);
	fprintf(out,
		"Settings of sleepers: priority=N (70), or spread over priorities 1 to 90; sync:\n"
		"released together with the job; periods=bosch (1 to 1000 ms), long (from 5 ms),\n"
		"drift or long+drift (none a multiple of the job's), or period=NS for all.\n"
		"\n"
		"Exit status: 0 measured, 1 failed, 2 wrong usage.\n");
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
		{ 'g', "gap", OPT_WIDE(&o->gap, 1, NSEC_PER_SEC) },
		{ 'm', "matrix", OPT_WIDE(&o->matrix, 1, NSEC_PER_SEC) },
		{ 'x', "products", OPT_WIDE(&o->products, 1, NSEC_PER_SEC) },
		{ 's', "spare", OPT_FLAG(&run.loads.spare) },
		{ 'r', "arm", OPT_FLAG(&o->arm) },
		{ 'C', "calibrate", OPT_FLAG(&o->calibrate) },
		{ }
	};

	parse_options(argc, argv, opts, usage);
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
