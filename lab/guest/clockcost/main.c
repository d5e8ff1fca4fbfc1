// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What looking at the clock takes, and what ClockFix's estimators take to learn.
 *
 * Times are whole ns and repeat a lot, so samples are kept as counts of each: nothing
 * is lost but their order.
 */
#define _GNU_SOURCE
#include "clock.h"

#include <clockfix.h>
#include <estimator.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARM_UP 1000
#define EXACT 100000		/* shorter times are counted exactly, */
#define MOST_LONG 100000	/* longer ones are listed */
#define INTERVAL 100000		/* ns: the sleeps that are learned from */

struct counts {
	uint64_t exact[EXACT];
	int64_t longer[MOST_LONG];
	int longs;
};

struct options {
	int64_t samples;
	int cpu;
	int priority;
};

static void usage(FILE *out)
{
	fprintf(out,
		"Usage: clockcost [OPTION]...\n"
		"Measure what reading a clock takes and what ClockFix's estimators take to learn;\n"
		"leave costs.csv and summary.csv in the working directory.\n"
		"\n"
		"  -n, --samples=N   of each (1000000)\n"
		"  -c, --cpu=N       CPU to run on (0)\n"
		"  -P, --priority=N  SCHED_FIFO priority, 0: SCHED_OTHER (80)\n"
		"\n"
		"Exit status: 0 measured, 1 failed, 2 wrong usage.\n");
}

static void note(struct counts *counts, int64_t took)
{
	if (took >= 0 && took < EXACT)
		counts->exact[took]++;
	else if (counts->longs < MOST_LONG)
		counts->longer[counts->longs++] = took;
}

static int write_counts(FILE *out, const char *what, struct counts *counts)
{
	for (int ns = 0; ns < EXACT; ns++)
		if (counts->exact[ns])
			fprintf(out, "%s,%d,%" PRIu64 "\n", what, ns, counts->exact[ns]);
	for (int i = 0; i < counts->longs; i++)
		fprintf(out, "%s,%" PRId64 ",1\n", what, counts->longer[i]);
	memset(counts, 0, sizeof(*counts));
	return ferror(out) ? -EIO : 0;
}

static void measure_clock(struct counts *counts, int64_t samples)
{
	for (int64_t i = -WARM_UP; i < samples; i++) {
		int64_t before = clock_ns(), after = clock_ns();

		if (i >= 0)
			note(counts, after - before);
	}
}

static double ticks_per_ns(void)
{
	int64_t start = clock_ns(), end;
	uint64_t ticks = counter();

	do {
		end = clock_ns();
	} while (end - start < 50 * NSEC_PER_MSEC);
	return (double)(counter() - ticks) / (double)(end - start);
}

static void measure_counter(struct counts *counts, int64_t samples)
{
	double speed = ticks_per_ns();

	for (int64_t i = -WARM_UP; i < samples; i++) {
		uint64_t before = counter(), after = counter();

		if (i >= 0)
			note(counts, (int64_t)((double)(after - before) / speed));
	}
}

/* Oversleeps as a busy machine has them: most alike, some much longer. */
static int64_t next_oversleep(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return 10000 + (*state >> 50) + (*state >> 33 & 63 ? 0 : (*state >> 46 & 0xffff));
}

static void measure_learning(struct counts *counts, int64_t samples, int kind)
{
	struct clockfix_options options;
	static struct estimator estimator;
	uint64_t state = 1;

	clockfix_options_init(&options);
	options.estimator = kind;
	estimator_init(&estimator, &options);
	for (int64_t i = -WARM_UP; i < samples; i++) {
		int64_t oversleep = next_oversleep(&state);
		int64_t before = clock_ns(), after;

		estimator_learn(&estimator, oversleep, INTERVAL);
		after = clock_ns();
		if (i >= 0)
			note(counts, after - before);
	}
}

/* The second level of learning, as the library's wait.c has it. */
static void measure_ema(struct counts *counts, int64_t samples)
{
	static volatile int64_t cost;
	uint64_t state = 1;

	for (int64_t i = -WARM_UP; i < samples; i++) {
		int64_t took = next_oversleep(&state);
		int64_t before = clock_ns(), after;

		cost += took - cost / 8;
		after = clock_ns();
		if (i >= 0)
			note(counts, after - before);
	}
}

static void measure_nothing(struct counts *counts, int64_t samples)
{
	uint64_t state = 1;

	for (int64_t i = -WARM_UP; i < samples; i++) {
		volatile int64_t oversleep = next_oversleep(&state);
		int64_t before = clock_ns(), after = clock_ns();

		(void)oversleep;
		if (i >= 0)
			note(counts, after - before);
	}
}

static const struct {
	const char *name;
	int kind;
} estimators[] = {
	{ "average", CLOCKFIX_ESTIMATOR_AVERAGE },
	{ "maximum", CLOCKFIX_ESTIMATOR_MAX },
	{ "quantile", CLOCKFIX_ESTIMATOR_QUANTILE },
	{ "decaying-maximum", CLOCKFIX_ESTIMATOR_DECAYING_MAX },
	{ "rank", CLOCKFIX_ESTIMATOR_RANK },
	{ "regime", CLOCKFIX_ESTIMATOR_REGIME },
};

static int measure_all(FILE *out, const struct options *options, struct counts *counts)
{
	int ret;

	measure_clock(counts, options->samples);
	ret = write_counts(out, "clock_gettime", counts);
	measure_counter(counts, options->samples);
	ret |= write_counts(out, "counter", counts);
	measure_nothing(counts, options->samples);
	ret |= write_counts(out, "learn-nothing", counts);
	measure_ema(counts, options->samples);
	ret |= write_counts(out, "learn-ema", counts);
	for (size_t i = 0; i < sizeof(estimators) / sizeof(*estimators); i++) {
		char name[40];

		measure_learning(counts, options->samples, estimators[i].kind);
		snprintf(name, sizeof(name), "learn-%s", estimators[i].name);
		ret |= write_counts(out, name, counts);
	}
	return ret;
}

static int64_t number(const char *text, int64_t from, int64_t to, const char *option)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 0);
	if (errno || *end || end == text || value < from || value > to) {
		fprintf(stderr, "clockcost: --%s=%s: not a number from %" PRId64 " to %" PRId64
			"\n", option, text, from, to);
		exit(2);
	}
	return value;
}

static const struct option long_options[] = {
	{ "samples", required_argument, NULL, 'n' },
	{ "cpu", required_argument, NULL, 'c' },
	{ "priority", required_argument, NULL, 'P' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static void parse(int argc, char **argv, struct options *options)
{
	int option;

	while ((option = getopt_long(argc, argv, "n:c:P:h", long_options, NULL)) != -1) {
		switch (option) {
		case 'n':
			options->samples = number(optarg, 1, NSEC_PER_SEC, "samples");
			break;
		case 'c':
			options->cpu = number(optarg, 0, CPU_SETSIZE - 1, "cpu");
			break;
		case 'P':
			options->priority = number(optarg, 0, 99, "priority");
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			fprintf(stderr, "Try 'clockcost --help'.\n");
			exit(2);
		}
	}
	if (optind < argc) {
		fprintf(stderr, "clockcost: what is '%s'?\n", argv[optind]);
		exit(2);
	}
}

static int settle(const struct options *options)
{
	struct sched_param param = { .sched_priority = options->priority };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(options->cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		fprintf(stderr, "clockcost: CPU %d: %m\n", options->cpu);
		return -errno;
	}
	if (options->priority && sched_setscheduler(0, SCHED_FIFO, &param)) {
		fprintf(stderr, "clockcost: SCHED_FIFO: %m; run it as root, or use --priority=0\n");
		return -errno;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct options options = { .samples = 1000000, .priority = 80 };
	struct counts *counts;
	FILE *costs, *summary;
	int ret;

	parse(argc, argv, &options);
	if (settle(&options))
		return 1;
	counts = calloc(1, sizeof(*counts));
	costs = fopen("costs.csv", "we");
	summary = fopen("summary.csv", "we");
	if (!counts || !costs || !summary) {
		fprintf(stderr, "clockcost: %m\n");
		return 1;
	}
	fprintf(costs, "what,took_ns,count\n");
	fprintf(summary, "name,value\nsamples,%" PRId64 "\npriority,%d\n", options.samples,
		options.priority);
	ret = measure_all(costs, &options, counts);
	free(counts);
	if (fclose(costs) | fclose(summary) | ret) {
		fprintf(stderr, "clockcost: writing failed: %m\n");
		return 1;
	}
	return 0;
}
