// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long each queue takes, in ticks of the CPU's counter and relative to
 * stock timerqueue in the same run.
 *
 * The contenders take turns every few hundred microseconds, so that whatever
 * else the machine does hits all alike. The cost of reading the counter and of
 * serializing is measured in turns with them and subtracted.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/kernel.h>

#include "cycles.h"
#include "workload.h"

#define MAX_CONTENDERS	3
#define MAX_TIMERS	1000000
/* Timers that the samples of the serve pattern amount to, at most */
#define MAX_SERVED	2000000u

#define CSV_HEADS	"min,p5,p50,p95,p99,max,p50_ns,p50_ratio,p95_ratio"
#define CSV_FIGURES	"%.1f,%.1f,%.1f,%.1f,%.1f,%.1f,%.2f,%.4f,%.4f"

static const unsigned int sizes[] = { 1, 50, 1000, 100000 };

struct options {
	unsigned int samples;
	unsigned int timers;	/* 0: all of sizes[] */
	int cpu;
	const char *csv;
};

/* Ticks of the counter for one operation, one value for each batch */
struct series {
	float *value;
	unsigned int count;
};

struct percentiles {
	double min, p5, p50, p95, p99, max;
};

static double nanoseconds(const struct timespec *t)
{
	return t->tv_sec * 1e9 + t->tv_nsec;
}

static double ticks_per_ns(void)
{
	struct timespec start, now;
	u64 ticks;

	clock_gettime(CLOCK_MONOTONIC, &start);
	ticks = read_counter();
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (nanoseconds(&now) - nanoseconds(&start) < 1e8);
	ticks = read_counter() - ticks;
	return ticks / (nanoseconds(&now) - nanoseconds(&start));
}

static int compare_floats(const void *_a, const void *_b)
{
	float a = *(const float *)_a, b = *(const float *)_b;

	return (a > b) - (a < b);
}

static struct percentiles percentiles_of(struct series *series)
{
	const float *v = series->value;
	unsigned int last = series->count - 1;

	qsort(series->value, series->count, sizeof(float), compare_floats);
	return (struct percentiles) {
		v[0], v[last / 20], v[last / 2], v[last - last / 20],
		v[last - last / 100], v[last],
	};
}

/* Samples of one load, and of batches that do nothing but serialize */
struct results {
	struct series series[MAX_CONTENDERS][NR_OPERATIONS];
	struct series nothing;
};

static int series_alloc(struct series *series, unsigned int samples)
{
	series->count = 0;
	series->value = malloc(samples * sizeof(float));
	return series->value ? 0 : -ENOMEM;
}

static int results_alloc(struct results *results, unsigned int samples)
{
	int ret = series_alloc(&results->nothing, samples);

	for (size_t c = 0; !ret && c < nr_contenders; c++) {
		for (int op = 0; !ret && op < NR_OPERATIONS; op++)
			ret = series_alloc(&results->series[c][op], samples);
	}
	return ret;
}

static void results_free(struct results *results)
{
	free(results->nothing.value);
	for (size_t c = 0; c < nr_contenders; c++) {
		for (int op = 0; op < NR_OPERATIONS; op++)
			free(results->series[c][op].value);
	}
}

static void keep(struct series *series, double ticks)
{
	series->value[series->count++] = ticks;
}

/* The first round of a block warms the caches and is not counted. */
static void run_block(struct arena *arena, const struct load *load,
		      const struct round *rounds, struct series *series)
{
	u64 ticks[NR_OPERATIONS];

	for (int i = 0; i < BLOCK; i++) {
		arena_round(arena, load, &rounds[i], ticks);
		for (int op = 0; i && op < SERVE; op++)
			keep(&series[op], (double)ticks[op] / BATCH);
	}
}

static void run_nothing(struct series *series)
{
	for (int i = 0; i < BLOCK; i++) {
		u64 start = read_counter();

		for (int j = 0; j < BATCH; j++)
			serialize();
		keep(series, (double)(read_counter() - start) / BATCH);
	}
}

static void run_rounds(struct arena *arenas, const struct load *load,
		       unsigned int blocks, struct results *results)
{
	struct round rounds[BLOCK];

	for (unsigned int b = 0; b < blocks; b++) {
		for (int i = 0; i < BLOCK; i++)
			random_round(load, &rounds[i]);
		for (size_t i = 0; i < nr_contenders; i++) {
			size_t c = (b + i) % nr_contenders;

			run_block(&arenas[c], load, rounds, results->series[c]);
		}
		run_nothing(&results->nothing);
	}
}

static void run_serves(struct arena *arenas, const struct load *load,
		       unsigned int serves, struct results *results)
{
	for (unsigned int s = 0; s < serves; s++) {
		for (size_t i = 0; i < nr_contenders; i++) {
			size_t c = (s + i) % nr_contenders;
			unsigned int served;
			u64 ticks;

			random_seed(s);
			served = arena_serve(&arenas[c], load, &ticks);
			keep(&results->series[c][SERVE], (double)ticks / served);
		}
	}
}

static int run_load(const struct load *load, const struct options *options,
		    struct results *results)
{
	unsigned int blocks = (options->samples + BLOCK - 2) / (BLOCK - 1);
	unsigned int serves = MAX_SERVED / (load->timers * nr_queues(load));
	struct arena arenas[MAX_CONTENDERS] = { 0 };
	int ret;

	if (serves > options->samples)
		serves = options->samples;
	ret = results_alloc(results, blocks * BLOCK + serves);
	for (size_t c = 0; !ret && c < nr_contenders; c++)
		ret = arena_fill(&arenas[c], contenders[c], load, 1);
	if (!ret) {
		run_rounds(arenas, load, blocks, results);
		run_serves(arenas, load, serves, results);
	}
	for (size_t c = 0; c < nr_contenders; c++)
		arena_free(&arenas[c]);
	return ret;
}

static void subtract_nothing(struct results *results)
{
	double nothing = percentiles_of(&results->nothing).p50;

	for (size_t c = 0; c < nr_contenders; c++) {
		for (int op = 0; op < NR_OPERATIONS; op++) {
			struct series *series = &results->series[c][op];

			for (unsigned int i = 0; i < series->count; i++)
				series->value[i] -= nothing;
		}
	}
}

static void print_load(const struct load *load, struct results *results,
		       double per_ns, FILE *csv)
{
	const char *levels = load->many_levels ? "many" : "one";

	for (int op = 0; op < NR_OPERATIONS; op++) {
		struct percentiles stock = { 0 };

		printf("\n%s, %u timer%s, %s level%s; ticks of one operation\n",
		       operation_name[op], load->timers,
		       load->timers == 1 ? "" : "s", levels,
		       load->many_levels ? "s" : "");
		printf("%-14s %7s %7s %7s %7s %7s %7s %9s %8s %7s %7s\n",
		       "queue", "samples", "min", "p5", "p50", "p95", "p99",
		       "max", "p50 ns", "x p50", "x p95");
		for (size_t c = 0; c < nr_contenders; c++) {
			struct series *series = &results->series[c][op];
			struct percentiles p = percentiles_of(series);

			if (!c)
				stock = p;
			printf("%-14s %7u %7.1f %7.1f %7.1f %7.1f %7.1f %9.1f %8.1f %7.3f %7.3f\n",
			       contenders[c]->name, series->count, p.min, p.p5,
			       p.p50, p.p95, p.p99, p.max, p.p50 / per_ns,
			       p.p50 / stock.p50, p.p95 / stock.p95);
			if (csv)
				fprintf(csv, "%s,%u,%s,%s,%u," CSV_FIGURES "\n",
					operation_name[op], load->timers, levels,
					contenders[c]->name, series->count, p.min,
					p.p5, p.p50, p.p95, p.p99, p.max,
					p.p50 / per_ns, p.p50 / stock.p50,
					p.p95 / stock.p95);
		}
	}
	fflush(stdout);
}

static int run(const struct options *options, FILE *csv)
{
	double per_ns = ticks_per_ns();

	printf("Ticks of the CPU's counter, %.3f a ns; each sample is the mean of %d operations.\n",
	       per_ns, BATCH);
	printf("\"x\" is the ratio to stock timerqueue. Levels: one, or 1 to 99 at random.\n");
	if (csv)
		fprintf(csv, "operation,timers,levels,queue,samples," CSV_HEADS "\n");

	for (size_t i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		struct load load = { sizes[i / 2], i % 2 };
		struct results results = { 0 };
		int ret;

		if (options->timers && i >= 2)
			break;
		if (options->timers)
			load.timers = options->timers;
		ret = run_load(&load, options, &results);
		if (!ret) {
			subtract_nothing(&results);
			print_load(&load, &results, per_ns, csv);
		}
		results_free(&results);
		if (ret)
			return ret;
	}
	return 0;
}

static void usage(FILE *out)
{
	fprintf(out,
		"Usage: bench [OPTION]...\n"
		"Compare the shipped queue with stock timerqueue and the paper's segment tree.\n\n"
		"  -n, --samples=N  batches to time of each operation, default 5000\n"
		"  -t, --timers=N   only with N timers in the queue, not 1, 50, 1000, 100000\n"
		"  -c, --cpu=N      CPU to run on, default the last one\n"
		"  -o, --csv=FILE   write the table to FILE, too\n"
		"  -h, --help       show this\n");
}

static int bad_number(const char *option, const char *value)
{
	fprintf(stderr, "bench: --%s=%s: not a number, or out of range\n",
		option, value);
	return -EINVAL;
}

static int parse_options(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = {
		{ "samples",	required_argument,	NULL, 'n' },
		{ "timers",	required_argument,	NULL, 't' },
		{ "cpu",	required_argument,	NULL, 'c' },
		{ "csv",	required_argument,	NULL, 'o' },
		{ "help",	no_argument,		NULL, 'h' },
		{ 0 }
	};
	char *end = "";
	int c;

	while ((c = getopt_long(argc, argv, "n:t:c:o:h", longs, NULL)) != -1) {
		switch (c) {
		case 'n':
			options->samples = strtoul(optarg, &end, 10);
			if (*end || !options->samples)
				return bad_number("samples", optarg);
			break;
		case 't':
			options->timers = strtoul(optarg, &end, 10);
			if (*end || !options->timers || options->timers > MAX_TIMERS)
				return bad_number("timers", optarg);
			break;
		case 'c':
			options->cpu = strtol(optarg, &end, 10);
			if (*end || options->cpu < 0)
				return bad_number("cpu", optarg);
			break;
		case 'o':
			options->csv = optarg;
			break;
		case 'h':
			usage(stdout);
			exit(EXIT_SUCCESS);
		default:
			usage(stderr);
			return -EINVAL;
		}
	}
	return 0;
}

static int pin(int cpu)
{
	cpu_set_t allowed, one;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return -errno;
	for (int i = CPU_SETSIZE - 1; cpu < 0 && i >= 0; i--) {
		if (CPU_ISSET(i, &allowed))
			cpu = i;
	}
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one)) {
		fprintf(stderr, "bench: cannot run on CPU %d: %m\n", cpu);
		return -errno;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct options options = { .samples = 5000, .cpu = -1 };
	FILE *csv = NULL;
	int ret;

	if (parse_options(argc, argv, &options))
		return 2;
	if (pin(options.cpu))
		return EXIT_FAILURE;
	if (options.csv) {
		csv = fopen(options.csv, "w");
		if (!csv) {
			fprintf(stderr, "bench: %s: %m\n", options.csv);
			return EXIT_FAILURE;
		}
	}
	ret = run(&options, csv);
	if (ret)
		fprintf(stderr, "bench: %s\n", strerror(-ret));
	if (csv && fclose(csv)) {
		fprintf(stderr, "bench: %s: %m\n", options.csv);
		ret = -EIO;
	}
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}
