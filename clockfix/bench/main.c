// SPDX-License-Identifier: LGPL-2.1-or-later
/* main.c - clockfix-bench: how exact clockfix is, against its rivals */
#include <argp.h>
#include <sched.h>
#include <stdlib.h>

#include "bench.h"

#define TEXT(number) #number
#define VERSION(major, minor) "clockfix-bench " TEXT(major) "." TEXT(minor)

const char *argp_program_version = VERSION(CLOCKFIX_VERSION_MAJOR, CLOCKFIX_VERSION_MINOR);

static int default_priority(void)
{
	struct sched_param param = { .sched_priority = 80 }, none = { 0 };

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		return 0;
	sched_setscheduler(0, SCHED_OTHER, &none);
	return 80;
}

/* that this process may use */
static int last_cpu(void)
{
	int cpu = CPU_SETSIZE - 1;
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	while (cpu && !CPU_ISSET(cpu, &set))
		cpu--;
	return cpu;
}

static double number(const char *text, double least, double most, struct argp_state *state)
{
	char *end;
	double val = strtod(text, &end);

	if (end == text || *end || val < least || val > most)
		argp_error(state, "'%s' is not a number from %g to %g", text, least, most);
	return val;
}

enum { OPT_COSTS = 256, OPT_JSON };

static const struct argp_option arguments[] = {
	{ "intervals", 'i', "LIST", 0, "e.g. 1us,100us,1ms (default: 1us to 100ms in decades)", 0 },
	{ "rivals", 'r', "LIST", 0, "measure only these (default: all)", 0 },
	{ "jobs", 'n', "N", 0, "at most N jobs per rival and interval (default 1000000)", 0 },
	{ "seconds", 's', "S", 0, "at most S seconds per rival and interval (default 60)", 0 },
	{ "rounds", 'R', "N", 0, "rounds in which rivals take turns (default 20)", 0 },
	{ "cpu", 'c', "N", 0, "CPU to run on (default: the last one)", 0 },
	{ "priority", 'p', "N", 0, "priority of SCHED_FIFO; 0: SCHED_OTHER (default: 80 if allowed)", 0 },
	{ "quiet", 'q', NULL, 0, "print no progress", 0 },
	{ "json", OPT_JSON, NULL, 0, "print JSON, with distributions, not a table", 0 },
	{ "costs", OPT_COSTS, NULL, 0, "print, as CSV, what reading the clock takes, and learning, "
	  "and nothing else", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct bench_options *opt = state->input;

	switch (key) {
	case 'i':
		opt->intervals = arg;
		break;
	case 'r':
		opt->rivals = arg;
		break;
	case 'n':
		opt->jobs = number(arg, 1, 1e9, state);
		break;
	case 's':
		opt->seconds = number(arg, 0.01, 86400, state);
		break;
	case 'R':
		opt->rounds = number(arg, 1, ROUNDS_MOST, state);
		break;
	case 'c':
		opt->cpu = number(arg, 0, CPU_SETSIZE - 1, state);
		break;
	case 'p':
		opt->priority = number(arg, 0, 99, state);
		break;
	case OPT_JSON:
		opt->json = true;
		break;
	case 'q':
		opt->quiet = true;
		break;
	case OPT_COSTS:
		opt->costs = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		arguments, parse, NULL,
		"Print lateness and CPU time of clockfix and its rivals.\v"
		"Exit codes: 0, 1 on an error, 2 on wrong usage.", NULL, NULL, NULL,
	};
	struct bench_options opt = {
		.cpu = last_cpu(),
		.priority = default_priority(),
		.jobs = 1000000,
		.seconds = 60,
		.rounds = 20,
		.intervals = "1us,10us,100us,1ms,10ms,100ms",
	};

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &opt);
	return opt.costs ? bench_costs(&opt) : bench_compare(&opt);
}
