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

static int run_load(const struct load *load, unsigned int samples, struct results *results)
{
	unsigned int blocks = (samples + BLOCK - 2) / (BLOCK - 1);
	unsigned int serves = MAX_SERVED / (load->timers * nr_queues(load));
	struct arena arenas[MAX_CONTENDERS] = { 0 };
	int ret;

	if (serves > samples)
		serves = samples;
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

static void print_load(const struct load *load, struct results *results, double per_ns)
{
	for (int op = 0; op < NR_OPERATIONS; op++) {
		struct percentiles stock = { 0 };

		for (size_t c = 0; c < nr_contenders; c++) {
			struct series *series = &results->series[c][op];
			struct percentiles p = percentiles_of(series);

			if (!c)
				stock = p;
			printf("%s,%u,%s,%s,%u,%.1f,%.1f,%.1f,%.1f,%.1f,%.1f,%.2f,%.4f,%.4f\n",
			       operation_name[op], load->timers, load->many_levels ? "many" : "one",
			       contenders[c]->name, series->count, p.min, p.p5, p.p50, p.p95, p.p99,
			       p.max, p.p50 / per_ns, p.p50 / stock.p50, p.p95 / stock.p95);
		}
	}
}

static int run(unsigned int samples, unsigned int timers)
{
	double per_ns = ticks_per_ns();

	printf("operation,timers,levels,queue,samples,min,p5,p50,p95,p99,max,p50_ns,p50_ratio,p95_ratio\n");
	for (int many = 0; many < 2; many++) {
		struct load load = { timers, many };
		struct results results = { 0 };
		int ret = run_load(&load, samples, &results);

		if (!ret) {
			subtract_nothing(&results);
			print_load(&load, &results, per_ns);
		}
		results_free(&results);
		if (ret)
			return ret;
	}
	return 0;
}

/* To the last CPU */
static int pin(void)
{
	cpu_set_t allowed, one;
	int cpu = CPU_SETSIZE - 1;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return -errno;
	while (!CPU_ISSET(cpu, &allowed))
		cpu--;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) ? -errno : 0;
}

int main(int argc, char **argv)
{
	unsigned int samples = argc == 3 ? atoi(argv[1]) : 0;
	unsigned int timers = argc == 3 ? atoi(argv[2]) : 0;
	int ret;

	if (!samples || !timers || timers > MAX_TIMERS) {
		fprintf(stderr, "Usage: bench SAMPLES TIMERS, up to %d; prints a table as CSV\n",
			MAX_TIMERS);
		return 2;
	}
	ret = pin();
	if (!ret)
		ret = run(samples, timers);
	if (ret)
		fprintf(stderr, "bench: %s\n", strerror(-ret));
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}
