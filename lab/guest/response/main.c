// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "response.h"
#include "clock.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_LOADS 8
#define MAX_TASKS 20000

static void usage(FILE *out)
{
	fprintf(out,
		"Usage: response [OPTION]...\n"
		"Run a periodic SCHED_FIFO job beside loads that set timers; leave summary.csv,\n"
		"jobs.csv, tasks.csv and releases.csv in the working directory.\n"
		"\n"
		"  -n, --jobs=N        jobs to record (1000)\n"
		"  -w, --warmup=N      jobs before those (20)\n"
		"  -p, --period=NS     a job's period (1000000)\n"
		"  -W, --work=ROUNDS   work in a job (as many as take 300 us)\n"
		"  -P, --priority=N    its SCHED_FIFO priority (99)\n"
		"  -c, --cpu=N         CPU for everything (0)\n"
		"  -g, --gap=NS        pauses longer than this are interruptions (200)\n"
		"  -m, --matrix=NS     multiply 3x3 matrices for NS in each job instead\n"
		"  -l, --load=KIND[:n=N][,SETTING]...   see below; may be repeated\n"
		"  -s, --spare         count what a SCHED_IDLE task gets\n"
		"  -a, --arm           arm and cancel a timerfd at the beginning of each job\n"
		"  -S, --seed=N        for periods and phases (1)\n"
		"  -C, --calibrate     print the rounds of work that take 300 us, and exit\n"
		"\n"
		"Loads:\n");
	load_describe(out);
	fprintf(out,
		"Settings of sleepers: priority=N (70), or spread over priorities 1 to 90; sync:\n"
		"released together with the job; periods=bosch (1 to 1000 ms), long (from 5 ms),\n"
		"drift or long+drift (none a multiple of the job's), or period=NS for all.\n"
		"\n"
		"Exit status: 0 measured, 1 failed, 2 wrong usage.\n");
}

static int64_t number(const char *text, int64_t from, int64_t to, const char *option)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 0);
	if (errno || *end || end == text || value < from || value > to) {
		fprintf(stderr, "response: --%s=%s: not a number from %" PRId64 " to %" PRId64
			"\n", option, text, from, to);
		exit(2);
	}
	return value;
}

static const struct option long_options[] = {
	{ "jobs", required_argument, NULL, 'n' },
	{ "warmup", required_argument, NULL, 'w' },
	{ "period", required_argument, NULL, 'p' },
	{ "work", required_argument, NULL, 'W' },
	{ "priority", required_argument, NULL, 'P' },
	{ "cpu", required_argument, NULL, 'c' },
	{ "gap", required_argument, NULL, 'g' },
	{ "matrix", required_argument, NULL, 'm' },
	{ "load", required_argument, NULL, 'l' },
	{ "spare", no_argument, NULL, 's' },
	{ "arm", no_argument, NULL, 'a' },
	{ "seed", required_argument, NULL, 'S' },
	{ "calibrate", no_argument, NULL, 'C' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static void parse_option(int option, struct options *to, struct load *loads, int *count)
{
	switch (option) {
	case 'n':
		to->jobs = number(optarg, 1, 10000000, "jobs");
		break;
	case 'w':
		to->warmup = number(optarg, 0, 100000, "warmup");
		break;
	case 'p':
		to->period = number(optarg, 10000, NSEC_PER_SEC, "period");
		break;
	case 'W':
		to->work = number(optarg, 1, NSEC_PER_SEC, "work");
		break;
	case 'P':
		to->priority = number(optarg, 1, 99, "priority");
		break;
	case 'c':
		to->cpu = number(optarg, 0, CPU_SETSIZE - 1, "cpu");
		break;
	case 'g':
		to->gap = number(optarg, 1, NSEC_PER_SEC, "gap");
		break;
	case 'm':
		to->matrix = number(optarg, 1, NSEC_PER_SEC, "matrix");
		break;
	case 'S':
		to->seed = number(optarg, 0, INT64_MAX, "seed");
		break;
	case 's':
		to->spare = true;
		break;
	case 'a':
		to->arm = true;
		break;
	case 'C':
		to->calibrate = true;
		break;
	case 'l':
		if (*count < MAX_LOADS && !load_parse(optarg, &loads[(*count)++]))
			break;
		fprintf(stderr, "response: --load=%s: no such load; see --help\n", optarg);
		exit(2);
	case 'h':
		usage(stdout);
		exit(0);
	default:
		fprintf(stderr, "Try 'response --help'.\n");
		exit(2);
	}
}

static void allocate(struct run *run)
{
	run->shared = shared_alloc(sizeof(*run->shared));
	run->task_room = MAX_TASKS;
	run->tasks = shared_alloc(MAX_TASKS * sizeof(*run->tasks));
	run->jobs = shared_alloc(run->options.jobs * sizeof(*run->jobs));
	run->children = calloc(MAX_TASKS + 1, sizeof(*run->children));
	if (!run->children) {
		fprintf(stderr, "response: no memory\n");
		exit(1);
	}
}

static int measure(struct run *run)
{
	int ret;

	if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
		fprintf(stderr, "response: cannot lock memory: %m; run it as root, or raise "
			"'ulimit -l'\n");
		return -errno;
	}
	ret = load_start(run);
	if (!ret)
		ret = load_wait_ready(run);
	if (!ret)
		ret = job_run_all(run);
	if (!ret)
		ret = load_finish(run);
	load_kill(run);
	return ret ? ret : record_write(run);
}

int main(int argc, char **argv)
{
	struct run run = {
		.options = {
			.jobs = 1000, .warmup = 20, .priority = 99, .gap = 200,
			.period = NSEC_PER_MSEC, .seed = 1,
		},
	};
	struct load loads[MAX_LOADS];
	int count = 0, option;

	while ((option = getopt_long(argc, argv, "n:w:p:W:P:c:g:m:l:saS:Ch", long_options,
				     NULL)) != -1)
		parse_option(option, &run.options, loads, &count);
	if (optind < argc) {
		fprintf(stderr, "response: what is '%s'?\n", argv[optind]);
		return 2;
	}
	if (task_pin(run.options.cpu))
		return 1;
	job_calibrate(&run);
	if (run.options.calibrate) {
		printf("%" PRId64 "\n", run.options.work);
		return 0;
	}
	allocate(&run);
	for (int i = 0; i < count; i++)
		if (load_plan(&run, &loads[i]))
			return 2;
	return measure(&run) ? 1 : 0;
}
