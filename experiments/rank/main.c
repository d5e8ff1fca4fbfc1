// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "rank.h"
#include "csv.h"
#include "sleepers.h"
#include "options.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void usage(FILE *out)
{
	fprintf(out,
		"Usage: rank [OPTION]...\n"
		"Repeat an action after which a kernel with TimerShield ranks timers anew, and leave\n"
		"summary.csv in the working directory. A QEMU plugin counts the cost:\n"
		"marks, system calls without effect, tell where each action begins and ends.\n"
		"\n"
		"  -a, --action=NAME   what is done (none)\n"
		"        none            nothing, between the marks\n"
		"        policy          a task becomes what --to names, and SCHED_OTHER again\n"
		"        inherit         SCHED_FIFO 90 waits for a lock that a SCHED_FIFO 10 task\n"
		"                        holds, and gives up\n"
		"        arm             SCHED_OTHER arms a timerfd for which SCHED_FIFO 80 waits\n"
		"  -o, --who=NAME      with policy, whose: self, pause, nanosleep, epoll, timers;\n"
		"                      with inherit, how the holder sleeps: pause, nanosleep;\n"
		"                      with arm, the waiter: none, read, poll, epoll, nested\n"
		"  -t, --to=NAME       with policy: fifo, batch (fifo)\n"
		"  -N, --count=N       timers of epoll and timers, or waiters of arm (1)\n"
		"  -s, --sleepers=N    SCHED_FIFO 10 tasks that sleep for an hour meanwhile (0)\n"
		"  -n, --repeats=N     how often (1000)\n"
		"  -w, --warmup=N      and how often before that (10)\n"
		"  -c, --cpu=N         CPU for everything (0)\n"
		"\n"
		"Exit status: 0 done, 1 failed, 2 wrong usage.\n");
}

/* Marks with nothing between: what they cost themselves. */
static int nothing(const struct options *options)
{
	for (int i = -options->warmup; i < options->repeats; i++) {
		if (!i)
			recording();
		mark_rise();
		mark_end();
		mark_fall();
		mark_end();
	}
	recording();
	return 0;
}

static int act(const struct options *options)
{
	if (!strcmp(options->action, "none"))
		return nothing(options);
	if (!strcmp(options->action, "policy"))
		return policy(options);
	if (!strcmp(options->action, "inherit"))
		return inherit(options);
	return arm(options);
}

static void write_results(const struct options *options)
{
	FILE *out = csv_create("summary.csv", "name,value");

	fprintf(out, "repeats,%d\ncount,%d\n", options->repeats, options->count);
	csv_finish(out, "summary.csv");
}

static const char *one_of(const char * const *names, const char *name, const char *option)
{
	for (; *names; names++)
		if (!strcmp(*names, name))
			return *names;
	fprintf(stderr, "rank: --%s=%s: there is no such thing here\n", option, name);
	exit(2);
}

static void check_who(struct options *options)
{
	static const char * const nobody[] = { "none", NULL };
	static const char * const whose[] = {
		"self", "pause", "nanosleep", "epoll", "timers", NULL,
	};
	static const char * const holders[] = { "pause", "nanosleep", NULL };
	static const char * const waiters[] = { "none", "read", "poll", "epoll", "nested", NULL };
	const char * const *names = nobody;

	if (!strcmp(options->action, "policy"))
		names = whose;
	else if (!strcmp(options->action, "inherit"))
		names = holders;
	else if (!strcmp(options->action, "arm"))
		names = waiters;
	options->who = one_of(names, options->who ? options->who : names[0], "who");
}

static void set_action(char *value, void *to)
{
	static const char * const actions[] = { "none", "policy", "inherit", "arm", NULL };
	struct options *options = to;

	options->action = one_of(actions, value, "action");
}

static void set_who(char *value, void *to)
{
	struct options *options = to;

	options->who = value;
}

static void set_class(char *value, void *to)
{
	static const char * const classes[] = { "fifo", "batch", NULL };
	struct options *options = to;

	options->to = one_of(classes, value, "to");
}

int main(int argc, char **argv)
{
	struct options o = { .action = "none", .to = "fifo", .count = 1, .repeats = 1000,
			     .warmup = 10 };
	const struct opt opts[] = {
		{ 'a', "action", OPT_TEXT(set_action, &o) },
		{ 'o', "who", OPT_TEXT(set_who, &o) },
		{ 't', "to", OPT_TEXT(set_class, &o) },
		{ 'N', "count", OPT_NUMBER(&o.count, 0, MAX_COUNT) },
		{ 's', "sleepers", OPT_NUMBER(&o.sleepers, 0, 10000) },
		{ 'n', "repeats", OPT_NUMBER(&o.repeats, 1, MAX_REPEATS) },
		{ 'w', "warmup", OPT_NUMBER(&o.warmup, 0, MAX_REPEATS) },
		{ 'c', "cpu", OPT_NUMBER(&o.cpu, 0, CPU_SETSIZE - 2) },
		{ }
	};

	parse_options(argc, argv, opts, usage);
	check_who(&o);
	if (task_pin(o.cpu) || start_long_sleepers(o.sleepers) || act(&o))
		return 1;
	write_results(&o);
	return 0;
}
