// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * estimators.c - record series of oversleep, and compare estimators on them
 *
 * A series is a text file: lines "# interval NS" and "# tick NS", then a line per sleep, how late
 * it ended and when it should have, in ns (without a tick the latter may be missing). On a recorded series all estimators meet the same
 * oversleeps, which live they never do; so this compares them exactly, but for one thing: live,
 * the next oversleep also depends on until when the estimator let the CPU sleep.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "estimator.h"

#define SLEEP_MIN 1000

struct series {
	int64_t interval, tick;
	struct {
		int64_t oversleep, until;
	} *sleep;
	size_t count;
};

static int series_grow(struct series *series, size_t *room)
{
	void *more;

	if (series->count < *room)
		return 0;
	*room = *room ? 2 * *room : 4096;
	more = realloc(series->sleep, *room * sizeof(*series->sleep));
	if (!more)
		return -ENOMEM;
	series->sleep = more;
	return 0;
}

static int series_read(const char *path, struct series *series)
{
	FILE *f = fopen(path, "r");
	long long val, until;
	size_t room = 0;
	char line[128];
	int ret = 0;

	memset(series, 0, sizeof(*series));
	if (!f)
		return -errno;
	while (!ret && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "# interval %lld", &val) == 1)
			series->interval = val;
		if (sscanf(line, "# tick %lld", &val) == 1)
			series->tick = val;
		until = 0;
		if (sscanf(line, "%lld %lld", &val, &until) < 1)
			continue;
		ret = series_grow(series, &room);
		if (!ret) {
			series->sleep[series->count].oversleep = val;
			series->sleep[series->count++].until = until;
		}
	}
	fclose(f);
	if (ret)
		return ret;
	return series->count && series->interval > 0 ? 0 : -EINVAL;
}

struct outcome {
	uint64_t late, slept;
	int64_t polled;
	int64_t *lateness;
};

static struct outcome replay(const struct series *series, const struct clockfix_options *options)
{
	struct outcome out = { .lateness = calloc(series->count, sizeof(int64_t)) };
	struct estimator est;

	estimator_init(&est, options);
	est.tick = series->tick;
	for (size_t i = 0; i < series->count; i++) {
		int64_t value = series->sleep[i].oversleep, until = series->sleep[i].until, late;
		int64_t margin;

		/* what is it for? Something at which, were it not for the phase, it sleeps so long */
		estimator_predict(&est, series->interval, until);
		margin = estimator_predict(&est, series->interval, until + est.calm);
		if (series->interval - margin < SLEEP_MIN) {
			out.polled += series->interval;
			estimator_decay(&est, series->interval);
			continue;
		}
		late = value > margin ? value - margin : 0;
		out.slept++;
		out.late += late > 1000;
		out.polled += margin > value ? margin - value : 0;
		if (out.lateness)
			out.lateness[i] = late;
		est.until = until;
		estimator_learn(&est, value, series->interval);
	}
	return out;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static const struct {
	const char *name;
	int estimator;
	uint32_t window;
} variants[] = {
	{ "hindsight, 1.5%", CLOCKFIX_ESTIMATOR_FIXED, 0 },
	{ "max 16", CLOCKFIX_ESTIMATOR_MAX, 16 },
	{ "max 32", CLOCKFIX_ESTIMATOR_MAX, 32 },
	{ "max 64", CLOCKFIX_ESTIMATOR_MAX, 64 },
	{ "max 128", CLOCKFIX_ESTIMATOR_MAX, 128 },
	{ "max 256", CLOCKFIX_ESTIMATOR_MAX, 256 },
	{ "default", CLOCKFIX_ESTIMATOR_DEFAULT, 0 },
};

/*
 * The constant margin that would have been right for 1.5 % of late sleeps, known in hindsight.
 * Where oversleeps don't depend on each other no estimator polls less at that share.
 */
static int64_t hindsight(const struct series *series)
{
	int64_t *sorted = malloc(series->count * sizeof(*sorted)), value;

	if (!sorted)
		return 0;
	for (size_t i = 0; i < series->count; i++)
		sorted[i] = series->sleep[i].oversleep;
	qsort(sorted, series->count, sizeof(*sorted), compare);
	/* late is what is late by more than 1 us */
	value = sorted[series->count - 1 - series->count * 15 / 1000] - 1000;
	free(sorted);
	return value > 0 ? value : 0;
}

static void compare_on(const char *path, const struct series *series)
{
	printf("\n%s: %zu sleeps, one each %lld us\n%-18s %9s %9s %9s %9s\n", path, series->count,
	       (long long)series->interval / 1000, "", "late>1us", "p95 late", "p99 late",
	       "polling");
	for (size_t i = 0; i < sizeof(variants) / sizeof(*variants); i++) {
		struct clockfix_options options;
		struct outcome out;

		clockfix_options_init(&options);
		options.estimator = variants[i].estimator;
		options.window = variants[i].window;
		if (options.estimator == CLOCKFIX_ESTIMATOR_FIXED)
			options.fixed_margin = hindsight(series);
		out = replay(series, &options);
		if (!out.lateness)
			return;
		qsort(out.lateness, series->count, sizeof(*out.lateness), compare);
		printf("%-18s %8.3f%% %9lld %9lld %8.2f%%\n", variants[i].name,
		       100.0 * out.late / series->count,
		       (long long)out.lateness[series->count * 95 / 100],
		       (long long)out.lateness[series->count * 99 / 100],
		       100.0 * out.polled / series->count / series->interval);
		free(out.lateness);
	}
}

int verb_estimators(const struct bench_options *opt, int argc, char **argv)
{
	int ret;

	(void)opt;
	if (argc < 2) {
		fprintf(stderr, "clockfix-bench: estimators: name series to compare on; "
			"'clockfix-bench record' makes them\n");
		return 2;
	}
	for (int i = 1; i < argc; i++) {
		struct series series;

		ret = series_read(argv[i], &series);
		if (ret) {
			fprintf(stderr, "clockfix-bench: %s: %s\n", argv[i],
				ret == -EINVAL ? "no series of oversleeps" : strerror(-ret));
			free(series.sleep);
			return 1;
		}
		compare_on(argv[i], &series);
		free(series.sleep);
	}
	return 0;
}

int verb_record(const struct bench_options *opt, int argc, char **argv)
{
	char *end = NULL;
	struct timespec ts;
	int64_t begin;
	long long interval = argc > 1 ? strtoll(argv[1], &end, 10) : 0;
	int ret;

	if (argc != 2 || interval < 1000 || *end) {
		fprintf(stderr, "clockfix-bench: record: say the interval in ns (1000 at least); "
			"the series goes to standard output\n");
		return 2;
	}
	ret = thread_prepare(opt);
	if (ret) {
		fprintf(stderr, "clockfix-bench: record: %s\n", strerror(-ret));
		return 1;
	}
	/* the coarse clock changes with each tick; seconds are of no interest */
	clock_getres(CLOCK_MONOTONIC_COARSE, &ts);
	printf("# interval %lld\n# tick %lld\n", interval, (long long)ts.tv_nsec);
	begin = now_ns() / 1000000000 * 1000000000;
	for (uint64_t i = 0; i < opt->jobs && !interrupted; i++) {
		int64_t instant = now_ns() + interval;

		ts.tv_sec = instant / 1000000000;
		ts.tv_nsec = instant % 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		printf("%lld %lld\n", (long long)(now_ns() - instant),
		       (long long)(instant - begin));
	}
	return 0;
}
