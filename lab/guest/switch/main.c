// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "switch.h"
#include "clock.h"
#include "sleepers.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void usage(FILE *out)
{
	fprintf(out,
		"Usage: switch [OPTION]...\n"
		"Have tasks on one CPU wake each other; leave rounds.csv and summary.csv in the\n"
		"working directory. Two processes play ping-pong by pipes, or, with --groups, many\n"
		"send each other messages by local sockets.\n"
		"\n"
		"  -n, --repeats=N     rounds to record (1000)\n"
		"  -w, --warmup=N      ping-pong rounds before those (100)\n"
		"  -p, --priority=A,B  the two players' SCHED_FIFO priorities, 0: SCHED_OTHER (0,0);\n"
		"                      A with --groups, for all\n"
		"  -g, --groups=N      groups of 5 senders and 5 receivers\n"
		"  -m, --messages=N    from each sender to each receiver, a round (20)\n"
		"  -s, --sleepers=N    SCHED_FIFO 10 tasks that sleep for an hour meanwhile (0)\n"
		"  -c, --cpu=N         CPU for everything (0)\n"
		"\n"
		"Exit status: 0 measured, 1 failed, 2 wrong usage.\n");
}

static int number(const char *text, int from, int to, const char *option)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || *end || end == text || value < from || value > to) {
		fprintf(stderr, "switch: --%s=%s: not a number from %d to %d\n", option, text,
			from, to);
		exit(2);
	}
	return value;
}

int become(int priority)
{
	struct sched_param param = { .sched_priority = priority };

	if (!sched_setscheduler(0, priority ? SCHED_FIFO : SCHED_OTHER, &param))
		return 0;
	fprintf(stderr, "switch: SCHED_FIFO %d: %m; run it as root\n", priority);
	return -errno;
}

static int start_sleepers(int count)
{
	int ret = start_long_sleepers(count);

	if (ret)
		fprintf(stderr, "switch: sleepers: %s\n", strerror(-ret));
	return ret;
}

static int pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (!sched_setaffinity(0, sizeof(set), &set))
		return 0;
	fprintf(stderr, "switch: CPU %d: %m\n", cpu);
	return -errno;
}

static int write_results(const struct options *options, const int64_t *samples)
{
	FILE *rounds = fopen("rounds.csv", "we"), *summary = fopen("summary.csv", "we");
	int64_t each = options->groups ? messages_each(options) : 1, total = 0;

	if (!rounds || !summary) {
		fprintf(stderr, "switch: results: %m\n");
		return -errno;
	}
	fprintf(rounds, "round_ns\n");
	for (int i = 0; i < options->repeats; i++) {
		fprintf(rounds, "%" PRId64 "\n", samples[i]);
		total += samples[i];
	}
	fprintf(summary, "name,value\nrounds,%d\ndone_each,%" PRId64 "\nelapsed_ns,%" PRId64 "\n",
		options->repeats, each, total);
	if (ferror(rounds) | fclose(rounds) | ferror(summary) | fclose(summary)) {
		fprintf(stderr, "switch: results: %m\n");
		return -EIO;
	}
	return 0;
}

static const struct option long_options[] = {
	{ "repeats", required_argument, NULL, 'n' },
	{ "warmup", required_argument, NULL, 'w' },
	{ "priority", required_argument, NULL, 'p' },
	{ "groups", required_argument, NULL, 'g' },
	{ "messages", required_argument, NULL, 'm' },
	{ "sleepers", required_argument, NULL, 's' },
	{ "cpu", required_argument, NULL, 'c' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static void parse_priorities(char *text, int *priority)
{
	char *second = strchr(text, ',');

	if (second)
		*second++ = '\0';
	priority[0] = number(text, 0, 99, "priority");
	priority[1] = second ? number(second, 0, 99, "priority") : priority[0];
}

static void parse_option(int option, struct options *to)
{
	switch (option) {
	case 'n':
		to->repeats = number(optarg, 1, MAX_REPEATS, "repeats");
		break;
	case 'w':
		to->warmup = number(optarg, 0, MAX_REPEATS, "warmup");
		break;
	case 'p':
		parse_priorities(optarg, to->priority);
		break;
	case 'g':
		to->groups = number(optarg, 1, 100, "groups");
		break;
	case 'm':
		to->messages = number(optarg, 1, 100000, "messages");
		break;
	case 's':
		to->sleepers = number(optarg, 0, 10000, "sleepers");
		break;
	case 'c':
		to->cpu = number(optarg, 0, CPU_SETSIZE - 1, "cpu");
		break;
	case 'h':
		usage(stdout);
		exit(0);
	default:
		fprintf(stderr, "Try 'switch --help'.\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct options options = { .repeats = 1000, .warmup = 100, .messages = 20 };
	int64_t *samples;
	int option, ret;

	while ((option = getopt_long(argc, argv, "n:w:p:g:m:s:c:h", long_options, NULL)) != -1)
		parse_option(option, &options);
	if (optind < argc) {
		fprintf(stderr, "switch: what is '%s'?\n", argv[optind]);
		return 2;
	}
	samples = calloc(options.repeats, sizeof(*samples));
	if (!samples) {
		fprintf(stderr, "switch: no memory for %d samples\n", options.repeats);
		return 1;
	}
	if (pin(options.cpu) || start_sleepers(options.sleepers))
		return 1;
	ret = options.groups ? messages(&options, samples) : pingpong(&options, samples);
	if (ret) {
		fprintf(stderr, "switch: %s\n", strerror(-ret));
		return 1;
	}
	return write_results(&options, samples) ? 1 : 0;
}
