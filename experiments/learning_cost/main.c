// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What looking at the clock takes, and what ClockFix's estimators take to learn.
 *
 * Times are whole ns and repeat a lot, so samples are kept as counts of each: nothing
 * is lost but their order.
 */
#define _GNU_SOURCE
#include "clock.h"
#include "csv.h"
#include "options.h"
#include "rounds.h"
#include "tasks.h"

#include <clockfix.h>
#include <estimator.h>
#include <paper.h>
#include <errno.h>
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
		"Usage: learning_cost [OPTION]...\n"
		"Measure what reading a clock takes and what ClockFix's estimators take to learn;\n"
		"leave costs.csv and summary.csv in the working directory.\n"
		"\n"
		"  -n, --samples=N   samples of each clock and estimator (1000000)\n"
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

static void measure_counter(struct counts *counts, int64_t samples)
{
	double speed = measure_ticks_per_ns();

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

/* @filter: one of the paper's, or NULL: the library's estimator. */
static void measure_learning(struct counts *counts, int64_t samples, struct filter *filter)
{
	const struct clockfix_options options = { .late_ppm = 0 };
	static struct estimator estimator;
	uint64_t state = 1;

	estimator_init(&estimator, &options);
	for (int64_t i = -WARM_UP; i < samples; i++) {
		int64_t oversleep = next_oversleep(&state);
		int64_t before = clock_ns(), after;

		if (filter)
			filter_learn(filter, oversleep);
		else
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

static int measure_all(FILE *out, const struct options *options, struct counts *counts)
{
	struct filter average = { .kind = FILTER_AVERAGE }, maximum = { .kind = FILTER_MAX };
	int ret;

	measure_clock(counts, options->samples);
	ret = write_counts(out, "clock_gettime", counts);
	measure_counter(counts, options->samples);
	ret |= write_counts(out, "counter", counts);
	measure_nothing(counts, options->samples);
	ret |= write_counts(out, "learn-nothing", counts);
	measure_ema(counts, options->samples);
	ret |= write_counts(out, "learn-ema", counts);
	measure_learning(counts, options->samples, &average);
	ret |= write_counts(out, "learn-average", counts);
	measure_learning(counts, options->samples, &maximum);
	ret |= write_counts(out, "learn-maximum", counts);
	measure_learning(counts, options->samples, NULL);
	ret |= write_counts(out, "learn-default", counts);
	return ret;
}

int main(int argc, char **argv)
{
	struct options options = { .samples = 1000000, .priority = 80 };
	const struct opt opts[] = {
		{ 'n', "samples", OPT_WIDE(&options.samples, 1, NSEC_PER_SEC) },
		{ 'c', "cpu", OPT_NUMBER(&options.cpu, 0, CPU_SETSIZE - 1) },
		{ 'P', "priority", OPT_NUMBER(&options.priority, 0, 99) },
		{ }
	};
	struct counts *counts;
	FILE *costs, *summary;
	int ret;

	parse_options(argc, argv, opts, usage);
	if (task_pin(options.cpu) || (options.priority && task_fifo(0, options.priority)))
		return 1;
	counts = calloc(1, sizeof(*counts));
	if (!counts)
		return 1;
	costs = csv_create("costs.csv", "what,took_ns,count");
	summary = csv_create("summary.csv", "name,value");
	fprintf(summary, "samples,%" PRId64 "\npriority,%d\n", options.samples,
		options.priority);
	ret = measure_all(costs, &options, counts);
	free(counts);
	csv_finish(costs, "costs.csv");
	csv_finish(summary, "summary.csv");
	return ret ? 1 : 0;
}
