// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * estimators.c - record series of oversleep, and compare estimators on them
 *
 * A series is a text file: a line "# interval NS", then an oversleep in ns per line. On a
 * recorded series all estimators meet the same oversleeps, which live they never do; so this
 * compares them exactly, but for one thing: on a live system the next oversleep also depends on
 * how long the estimator let the CPU sleep.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "estimator.h"

#define SLEEP_MIN 1000

struct series {
	int64_t interval;
	int64_t *value;
	size_t count;
};

static int series_read(const char *path, struct series *series)
{
	FILE *f = fopen(path, "r");
	size_t room = 0;
	long long val;
	char line[128];

	memset(series, 0, sizeof(*series));
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "# interval %lld", &val) == 1) {
			series->interval = val;
			continue;
		}
		if (line[0] == '#' || sscanf(line, "%lld", &val) != 1)
			continue;
		if (series->count == room) {
			int64_t *more = realloc(series->value, (room = room ? 2 * room : 4096) *
						sizeof(*more));

			if (!more) {
				fclose(f);
				return -ENOMEM;
			}
			series->value = more;
		}
		series->value[series->count++] = val;
	}
	fclose(f);
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
	for (size_t i = 0; i < series->count; i++) {
		int64_t margin = estimator_predict(&est, series->interval);
		int64_t value = series->value[i], late;

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
	uint32_t window, late_ppm;
} variants[] = {
	{ "hindsight, 1.5%", CLOCKFIX_ESTIMATOR_FIXED, 0, 15000 },
	{ "none", CLOCKFIX_ESTIMATOR_NONE, 0, 0 },
	{ "average 32", CLOCKFIX_ESTIMATOR_AVERAGE, 32, 0 },
	{ "max 16", CLOCKFIX_ESTIMATOR_MAX, 16, 0 },
	{ "max 32", CLOCKFIX_ESTIMATOR_MAX, 32, 0 },
	{ "max 64", CLOCKFIX_ESTIMATOR_MAX, 64, 0 },
	{ "max 128", CLOCKFIX_ESTIMATOR_MAX, 128, 0 },
	{ "decaying max", CLOCKFIX_ESTIMATOR_DECAYING_MAX, 0, 0 },
	{ "quantile, 1.5%", CLOCKFIX_ESTIMATOR_QUANTILE, 0, 15000 },
	{ "rank 256, 1.5%", CLOCKFIX_ESTIMATOR_RANK, 256, 15000 },
	{ "rank 512, 1.5%", CLOCKFIX_ESTIMATOR_RANK, 512, 15000 },
	{ "regime 256, 1.5%", CLOCKFIX_ESTIMATOR_REGIME, 256, 15000 },
	{ "regime 512, 1.5%", CLOCKFIX_ESTIMATOR_REGIME, 512, 15000 },
	{ "regime 1024, 1.5%", CLOCKFIX_ESTIMATOR_REGIME, 1024, 15000 },
	{ "regime 512, 0.5%", CLOCKFIX_ESTIMATOR_REGIME, 512, 5000 },
	{ "regime 512, 3%", CLOCKFIX_ESTIMATOR_REGIME, 512, 30000 },
};

/*
 * The constant margin that would have been right for a share of late sleeps, known in hindsight.
 * Where oversleeps don't depend on each other no estimator polls less at that share.
 */
static int64_t hindsight(const struct series *series, uint32_t late_ppm)
{
	int64_t *sorted = malloc(series->count * sizeof(*sorted)), value;

	if (!sorted)
		return 0;
	memcpy(sorted, series->value, series->count * sizeof(*sorted));
	qsort(sorted, series->count, sizeof(*sorted), compare);
	/* late is what is late by more than 1 us */
	value = sorted[series->count - 1 - series->count * late_ppm / 1000000] - 1000;
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
		options.late_ppm = variants[i].late_ppm;
		if (options.estimator == CLOCKFIX_ESTIMATOR_FIXED)
			options.fixed_margin = hindsight(series, options.late_ppm);
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
			free(series.value);
			return 1;
		}
		compare_on(argv[i], &series);
		free(series.value);
	}
	return 0;
}

int verb_record(const struct bench_options *opt, int argc, char **argv)
{
	char *end = NULL;
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
	printf("# interval %lld\n", interval);
	for (uint64_t i = 0; i < opt->jobs && !interrupted; i++) {
		int64_t instant = now_ns() + interval;
		struct timespec ts = { instant / 1000000000, instant % 1000000000 };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		printf("%lld\n", (long long)(now_ns() - instant));
	}
	return 0;
}
