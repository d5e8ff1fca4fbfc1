// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "rank.h"
#include "clock.h"
#include "sleepers.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void usage(FILE *out)
{
	fprintf(out,
		"Usage: rank [OPTION]...\n"
		"Do again and again what makes a kernel with TimerShield rank timers anew, and leave\n"
		"summary.csv in the working directory. What it costs is counted by who runs this:\n"
		"marks, system calls without effect, tell where each action begins and ends.\n"
		"\n"
		"  -a, --action=NAME   what is done (none)\n"
		"        none            nothing, between the marks\n"
		"        policy          a task becomes what --to names, and SCHED_OTHER again\n"
		"        inherit         SCHED_FIFO 90 waits for a lock that a SCHED_FIFO 10 task\n"
		"                        holds, and gives up\n"
		"        arm             SCHED_OTHER arms a timerfd for which SCHED_FIFO 80 waits\n"
		"        handover        SCHED_FIFO 90 is busy while timers of SCHED_FIFO 50 tasks\n"
		"                        expire that may run on the next CPU, too\n"
		"  -o, --who=NAME      with policy, whose: self, pause, nanosleep, epoll, timers;\n"
		"                      with inherit, how the holder sleeps: pause, nanosleep;\n"
		"                      with arm, who waits: none, read, poll, epoll, nested\n"
		"  -t, --to=NAME       with policy: fifo, batch (fifo)\n"
		"  -N, --count=N       timers of epoll, timers and handover, or waiters of arm (1)\n"
		"  -s, --sleepers=N    SCHED_FIFO 10 tasks that sleep for an hour meanwhile (0)\n"
		"  -n, --repeats=N     how often (1000)\n"
		"  -w, --warmup=N      and how often before that (10)\n"
		"  -c, --cpu=N         CPU for everything; handover uses the next one, too (0)\n"
		"\n"
		"Exit status: 0 done, 1 failed, 2 wrong usage.\n");
}

int failed(const char *what)
{
	int error = errno ? errno : EIO;

	fprintf(stderr, "rank: %s: %s\n", what, strerror(error));
	return -error;
}

int make(pid_t pid, int priority)
{
	struct sched_param param = { .sched_priority = priority };

	if (!sched_setscheduler(pid, priority ? SCHED_FIFO : SCHED_OTHER, &param))
		return 0;
	return failed("sched_setscheduler");
}

int allow(int cpu, int other)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (other >= 0)
		CPU_SET(other, &set);
	if (!sched_setaffinity(0, sizeof(set), &set))
		return 0;
	return failed("sched_setaffinity");
}

void settle(void)
{
	sleep_until(clock_ns() + 200 * NSEC_PER_USEC);
}

static int start_sleepers(int count)
{
	errno = -start_long_sleepers(count);
	return errno ? failed("sleepers") : 0;
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

static int act(const struct options *options, long *taken)
{
	if (!strcmp(options->action, "none"))
		return nothing(options);
	if (!strcmp(options->action, "policy"))
		return policy(options);
	if (!strcmp(options->action, "inherit"))
		return inherit(options);
	if (!strcmp(options->action, "arm"))
		return arm(options);
	return handover(options, taken);
}

static int write_results(const struct options *options, long taken)
{
	FILE *out = fopen("summary.csv", "we");

	if (!out)
		return failed("summary.csv");
	fprintf(out, "name,value\nrepeats,%d\ncount,%d\n", options->repeats, options->count);
	if (!strcmp(options->action, "handover"))
		fprintf(out, "taken,%ld\n", taken);
	if (ferror(out) | fclose(out))
		return failed("summary.csv");
	return 0;
}

static const struct option long_options[] = {
	{ "action", required_argument, NULL, 'a' },
	{ "who", required_argument, NULL, 'o' },
	{ "to", required_argument, NULL, 't' },
	{ "count", required_argument, NULL, 'N' },
	{ "sleepers", required_argument, NULL, 's' },
	{ "repeats", required_argument, NULL, 'n' },
	{ "warmup", required_argument, NULL, 'w' },
	{ "cpu", required_argument, NULL, 'c' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static int number(int from, int to, const char *option)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(optarg, &end, 10);
	if (errno || *end || end == optarg || value < from || value > to) {
		fprintf(stderr, "rank: --%s=%s: not a number from %d to %d\n", option, optarg,
			from, to);
		exit(2);
	}
	return value;
}

static const char *one_of(const char * const *names, const char *name, const char *option)
{
	for (; *names; names++)
		if (!strcmp(*names, name))
			return *names;
	fprintf(stderr, "rank: --%s=%s: there is no such thing here\n", option, name);
	exit(2);
}

static const char * const actions[] = {
	"none", "policy", "inherit", "arm", "handover", NULL,
};

static void parse_option(int option, struct options *to)
{
	static const char * const classes[] = { "fifo", "batch", NULL };

	switch (option) {
	case 'a':
		to->action = one_of(actions, optarg, "action");
		break;
	case 'o':
		to->who = optarg;
		break;
	case 't':
		to->to = one_of(classes, optarg, "to");
		break;
	case 'N':
		to->count = number(0, MAX_COUNT, "count");
		break;
	case 's':
		to->sleepers = number(0, 10000, "sleepers");
		break;
	case 'n':
		to->repeats = number(1, MAX_REPEATS, "repeats");
		break;
	case 'w':
		to->warmup = number(0, MAX_REPEATS, "warmup");
		break;
	case 'c':
		to->cpu = number(0, CPU_SETSIZE - 2, "cpu");
		break;
	case 'h':
		usage(stdout);
		exit(0);
	default:
		fprintf(stderr, "Try 'rank --help'.\n");
		exit(2);
	}
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

int main(int argc, char **argv)
{
	struct options options = { .action = "none", .to = "fifo", .count = 1, .repeats = 1000,
				   .warmup = 10 };
	long taken = 0;
	int option;

	while ((option = getopt_long(argc, argv, "a:o:t:N:s:n:w:c:h", long_options, NULL)) != -1)
		parse_option(option, &options);
	if (optind < argc) {
		fprintf(stderr, "rank: what is '%s'?\n", argv[optind]);
		return 2;
	}
	check_who(&options);
	if (allow(options.cpu, -1) || start_sleepers(options.sleepers) || act(&options, &taken))
		return 1;
	return write_results(&options, taken) ? 1 : 0;
}
