// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "switch.h"
#include "csv.h"
#include "sleepers.h"
#include "options.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void usage(FILE *out)
{
	fprintf(out,
		"Usage: context_switch [OPTION]...\n"
		"Have tasks on one CPU wake each other; leave rounds.csv and summary.csv in the\n"
		"working directory. Two processes play ping-pong by pipes, or, with --groups, many\n"
		"send each other messages by local sockets.\n"
		"\n"
		"  -n, --repeats=N     rounds to record (1000)\n"
		"  -w, --warmup=N      ping-pong rounds before these (100)\n"
		"  -p, --priority=A,B  the two players' SCHED_FIFO priorities, 0: SCHED_OTHER (0,0);\n"
		"                      A with --groups, for all\n"
		"  -g, --groups=N      groups of 5 senders and 5 receivers\n"
		"  -m, --messages=N    messages from each sender to each receiver, a round (20)\n"
		"  -s, --sleepers=N    SCHED_FIFO 10 tasks that sleep for an hour meanwhile (0)\n"
		"  -c, --cpu=N         CPU for all tasks (0)\n"
		"\n"
		"Exit status: 0 measured, 1 failed, 2 wrong usage.\n");
}

static void write_results(const struct options *options, const int64_t *samples)
{
	FILE *summary = csv_create("summary.csv", "name,value");
	FILE *rounds = csv_create("rounds.csv", "round_ns");
	int64_t each = options->groups ? messages_each(options) : 1, total = 0;

	for (int i = 0; i < options->repeats; i++) {
		fprintf(rounds, "%" PRId64 "\n", samples[i]);
		total += samples[i];
	}
	fprintf(summary, "rounds,%d\ndone_each,%" PRId64 "\nelapsed_ns,%" PRId64 "\n",
		options->repeats, each, total);
	csv_finish(rounds, "rounds.csv");
	csv_finish(summary, "summary.csv");
}

static void set_priorities(char *text, void *to)
{
	int *priority = to;
	char *second = strchr(text, ',');

	if (second)
		*second++ = '\0';
	priority[0] = number(text, 0, 99, "priority");
	priority[1] = second ? number(second, 0, 99, "priority") : priority[0];
}

int main(int argc, char **argv)
{
	struct options options = { .repeats = 1000, .warmup = 100, .messages = 20 };
	const struct opt opts[] = {
		{ 'n', "repeats", OPT_NUMBER(&options.repeats, 1, MAX_REPEATS) },
		{ 'w', "warmup", OPT_NUMBER(&options.warmup, 0, MAX_REPEATS) },
		{ 'p', "priority", OPT_TEXT(set_priorities, options.priority) },
		{ 'g', "groups", OPT_NUMBER(&options.groups, 1, 100) },
		{ 'm', "messages", OPT_NUMBER(&options.messages, 1, 100000) },
		{ 's', "sleepers", OPT_NUMBER(&options.sleepers, 0, 10000) },
		{ 'c', "cpu", OPT_NUMBER(&options.cpu, 0, CPU_SETSIZE - 1) },
		{ }
	};
	int64_t *samples;
	int ret;

	parse_options(argc, argv, opts, usage);
	samples = calloc(options.repeats, sizeof(*samples));
	if (!samples) {
		fprintf(stderr, "context_switch: no memory for %d samples\n", options.repeats);
		return 1;
	}
	if (task_pin(options.cpu) || start_long_sleepers(options.sleepers))
		return 1;
	ret = options.groups ? messages(&options, samples) : pingpong(&options, samples);
	if (ret) {
		fprintf(stderr, "context_switch: %s\n", strerror(-ret));
		return 1;
	}
	write_results(&options, samples);
	return 0;
}
