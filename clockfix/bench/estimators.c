// SPDX-License-Identifier: LGPL-2.1-or-later
/* estimators.c - record series of oversleep, and compare estimators on them */
#include "bench.h"
#include "series.h"

static const struct {
	const char *name;
	int estimator;
	uint32_t window;
} variants[] = {
	{ "hindsight, 1.5%", CLOCKFIX_ESTIMATOR_FIXED, 0 },
	{ "max 32", CLOCKFIX_ESTIMATOR_MAX, 32 },
	{ "max 64", CLOCKFIX_ESTIMATOR_MAX, 64 },
	{ "max 128", CLOCKFIX_ESTIMATOR_MAX, 128 },
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
	sort_ns(sorted, series->count);
	/* late is what is late by more than 1 us */
	value = sorted[series->count - 1 - series->count * 15 / 1000] - 1000;
	free(sorted);
	return value > 0 ? value : 0;
}

static void compare_on(const char *path, const struct series *series)
{
	printf("\n%s: %zu sleeps, one each %lld us\n%-18s %9s %9s\n", path, series->count,
	       (long long)series->interval / 1000, "", "late>1us", "polling");
	for (size_t i = 0; i < sizeof(variants) / sizeof(*variants); i++) {
		struct clockfix_options options;
		struct outcome out;

		clockfix_options_init(&options);
		options.estimator = variants[i].estimator;
		options.window = variants[i].window;
		if (options.estimator == CLOCKFIX_ESTIMATOR_FIXED)
			options.fixed_margin = hindsight(series);
		out = replay(series, &options);
		printf("%-18s %8.3f%% %8.2f%%\n", variants[i].name,
		       100.0 * out.late / series->count,
		       100.0 * out.polled / series->count / series->interval);
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
