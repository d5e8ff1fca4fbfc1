// SPDX-License-Identifier: LGPL-2.1-or-later
/* costs.c - what reading the clock takes, and what the estimators take to learn */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "estimator.h"

#define WARM_UP		1000
#define INTERVAL	100000	/* ns: the sleeps that are learned from */

static struct estimator estimator;
static volatile int64_t average;

static void nothing(int64_t oversleep)
{
}

/* Of the cost of learning, as in wait.c */
static void moving_average(int64_t oversleep)
{
	average += oversleep - average / 8;
}

static void learn(int64_t oversleep)
{
	estimator_learn(&estimator, oversleep, INTERVAL);
}

static const struct {
	const char *name;
	void (*volatile call)(int64_t oversleep);
	int estimator;
} costs[] = {
	{ "nothing", nothing, 0 },
	{ "ema", moving_average, 0 },
	{ "average", learn, CLOCKFIX_ESTIMATOR_AVERAGE },
	{ "maximum", learn, CLOCKFIX_ESTIMATOR_MAXIMUM },
	{ "default", learn, 0 },
};

/* As a busy machine has them: most alike, some much longer. */
static int64_t next_oversleep(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return 10000 + (*state >> 50) + (*state >> 33 & 63 ? 0 : (*state >> 46 & 0xffff));
}

static void measure(size_t which, int64_t *took, uint64_t count)
{
	const struct clockfix_options options = { .estimator = costs[which].estimator };
	uint64_t state = 1;

	estimator_init(&estimator, &options);
	for (uint64_t i = 0; i < count + WARM_UP; i++) {
		int64_t oversleep = next_oversleep(&state), before = now_ns();

		costs[which].call(oversleep);
		took[i < WARM_UP ? 0 : i - WARM_UP] = now_ns() - before;
	}
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Each value, and how often it occurs; times are whole ns and repeat. */
static void print_counts(const char *what, int64_t *ns, size_t count)
{
	qsort(ns, count, sizeof(*ns), compare);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && ns[end] == ns[i];)
			end++;
		printf("%s,%lld,%zu\n", what, (long long)ns[i], end - i);
	}
}

int bench_costs(const struct bench_options *opt)
{
	int64_t *took = calloc(opt->jobs, sizeof(*took));
	int ret = took ? thread_prepare(opt) : -ENOMEM;

	if (ret) {
		fprintf(stderr, "clockfix-bench: %s\n", strerror(-ret));
		free(took);
		return 1;
	}
	printf("what,took_ns,count\n");
	for (size_t i = 0; i < sizeof(costs) / sizeof(*costs); i++) {
		measure(i, took, opt->jobs);
		print_counts(costs[i].name, took, opt->jobs);
	}
	free(took);
	return 0;
}
