// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "together.h"
#include "clock.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_LOADS 8
#define MAX_TASKS 20000

static void usage(FILE *out)
{
	fprintf(out,
		"Usage: together --work=ROUNDS [OPTION]...\n"
		"Run a periodic SCHED_FIFO job beside loads, waiting for its instants in one way or\n"
		"another; leave summary.csv, jobs.csv, tasks.csv and releases.csv in the working\n"
		"directory.\n"
		"\n"
		"  -x, --clockfix      wait by libclockfix (by clock_nanosleep)\n"
		"  -n, --jobs=N        jobs to record (1000)\n"
		"  -w, --warmup=N      jobs before those (300)\n"
		"  -p, --period=NS     a job's period (1000000)\n"
		"  -W, --work=ROUNDS   work in a job\n"
		"  -P, --priority=N    its SCHED_FIFO priority (99)\n"
		"  -c, --cpu=N         the job's CPU (0)\n"
		"  -H, --hogs=N        ordinary processes that take the CPU (0)\n"
		"  -C, --spinners=N    ordinary processes that only compute (0)\n"
		"  -a, --anywhere      loads may run on every CPU (on the job's only)\n"
		"  -s, --shield        nothing else may run on the job's CPU (/proc/shield)\n"
		"  -l, --load=KIND[:n=N][,SETTING]...   see below; may be repeated\n"
		"  -S, --seed=N        for periods and phases (1)\n"
		"\n"
		"Loads:\n");
	load_describe(out);
	fprintf(out, "\nExit status: 0 measured, 1 failed, 2 wrong usage.\n");
}

static int64_t number(const char *text, int64_t from, int64_t to, const char *option)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 0);
	if (errno || *end || end == text || value < from || value > to) {
		fprintf(stderr, "together: --%s=%s: not a number from %" PRId64 " to %" PRId64
			"\n", option, text, from, to);
		exit(2);
	}
	return value;
}

static const struct option long_options[] = {
	{ "clockfix", no_argument, NULL, 'x' },
	{ "jobs", required_argument, NULL, 'n' },
	{ "warmup", required_argument, NULL, 'w' },
	{ "period", required_argument, NULL, 'p' },
	{ "work", required_argument, NULL, 'W' },
	{ "priority", required_argument, NULL, 'P' },
	{ "cpu", required_argument, NULL, 'c' },
	{ "hogs", required_argument, NULL, 'H' },
	{ "spinners", required_argument, NULL, 'C' },
	{ "anywhere", no_argument, NULL, 'a' },
	{ "shield", no_argument, NULL, 's' },
	{ "load", required_argument, NULL, 'l' },
	{ "seed", required_argument, NULL, 'S' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static void parse_option(int option, struct together *to, struct load *loads, int *count)
{
	struct options *o = &to->run.options;

	switch (option) {
	case 'x':
		to->clockfix = true;
		break;
	case 'n':
		o->jobs = number(optarg, 1, 10000000, "jobs");
		break;
	case 'w':
		o->warmup = number(optarg, 0, 100000, "warmup");
		break;
	case 'p':
		o->period = number(optarg, 10000, NSEC_PER_SEC, "period");
		break;
	case 'W':
		o->work = number(optarg, 1, NSEC_PER_SEC, "work");
		break;
	case 'P':
		o->priority = number(optarg, 1, 99, "priority");
		break;
	case 'c':
		o->cpu = number(optarg, 0, CPU_SETSIZE - 1, "cpu");
		break;
	case 'H':
		to->hogs = number(optarg, 0, 100, "hogs");
		break;
	case 'C':
		to->spinners = number(optarg, 0, 100, "spinners");
		break;
	case 'a':
		o->anywhere = true;
		break;
	case 's':
		to->shield = true;
		break;
	case 'S':
		o->seed = number(optarg, 0, INT64_MAX, "seed");
		break;
	case 'l':
		if (*count < MAX_LOADS && !load_parse(optarg, &loads[(*count)++]))
			break;
		fprintf(stderr, "together: --load=%s: no such load; see --help\n", optarg);
		exit(2);
	case 'h':
		usage(stdout);
		exit(0);
	default:
		fprintf(stderr, "Try 'together --help'.\n");
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
		fprintf(stderr, "together: no memory\n");
		exit(1);
	}
}

static int measure(struct together *together)
{
	struct run *run = &together->run;
	int ret;

	if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
		fprintf(stderr, "together: cannot lock memory: %m; run it as root, or raise "
			"'ulimit -l'\n");
		return -errno;
	}
	ret = load_start(run);
	if (!ret)
		ret = hogs_start(together);
	if (!ret)
		ret = load_wait_ready(run);
	if (!ret)
		ret = work_run_all(together);
	if (!ret)
		ret = load_finish(run);
	load_kill(run);
	return ret ? ret : record_write(run);
}

int main(int argc, char **argv)
{
	struct together together = {
		.run.ticks_per_ns = 1,
		.run.options = {
			.jobs = 1000, .warmup = 300, .priority = 99, .seed = 1,
			.period = NSEC_PER_MSEC,
		},
	};
	struct load loads[MAX_LOADS];
	int count = 0, option;

	while ((option = getopt_long(argc, argv, "xn:w:p:W:P:c:H:C:asl:S:h", long_options,
				     NULL)) != -1)
		parse_option(option, &together, loads, &count);
	if (optind < argc || !together.run.options.work) {
		fprintf(stderr, optind < argc ? "together: what is '%s'?\n" :
			"together: --work is missing\n", argv[optind]);
		return 2;
	}
	allocate(&together.run);
	for (int i = 0; i < count; i++)
		if (load_plan(&together.run, &loads[i]))
			return 2;
	return measure(&together) ? 1 : 0;
}
