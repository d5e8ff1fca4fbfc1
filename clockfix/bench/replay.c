// SPDX-License-Identifier: LGPL-2.1-or-later
/* replay.c - record series of oversleep; estimators, and what hindsight allows, on them */
#include <math.h>

#include "bench.h"
#include "series.h"

/* ---- hindsight -------------------------------------------------------------------------- */

/* Sleeps in like circumstances, for which hindsight chooses one margin. */
#define BINS	64

enum condition { CONSTANT, PREVIOUS, PHASE, CONDITIONS };

static const char *const condition_text[] = {
	"hindsight, one margin", "  by the sleep before", "  by the tick's phase",
};

struct bin {
	int64_t *oversleep;	/* sorted */
	size_t count;
};

/* Which of eight parts of the distribution the oversleep before fell into. */
static unsigned int rank_of(const int64_t *sorted, size_t count, int64_t value)
{
	unsigned int bin = 0;

	while (bin < 7 && value > sorted[count * (bin + 1) / 8])
		bin++;
	return bin;
}

static unsigned int bin_of(const struct series *series, enum condition condition,
			   const int64_t *sorted, size_t i)
{
	if (condition == PREVIOUS)
		return i ? rank_of(sorted, series->count, series->sleep[i - 1].oversleep) : 0;
	if (condition == PHASE && series->tick)
		return series->sleep[i].until % series->tick * BINS / series->tick;
	return 0;
}

/* Of one bin: the margin that costs least, if a late sleep costs @price. */
static struct outcome best_margin(const struct bin *bin, int64_t interval, double price)
{
	struct outcome best = { .late = bin->count };
	double least = price * bin->count, sum = 0;
	size_t below = 0;

	for (size_t i = 0; i < bin->count; i++) {
		int64_t margin = bin->oversleep[i] - 1000;
		double polled, cost;

		if (margin < 0 || margin > interval - SLEEP_MIN)
			continue;
		while (bin->oversleep[below] < margin)
			sum += bin->oversleep[below++];
		polled = (double)margin * below - sum;
		cost = polled + price * (bin->count - 1 - i);
		if (cost < least) {
			least = cost;
			best = (struct outcome){ .late = bin->count - 1 - i, .polled = polled };
		}
	}
	return best;
}

static struct outcome hindsight_at(const struct bin *bins, int64_t interval, double price)
{
	struct outcome all = { 0 };

	for (unsigned int b = 0; b < BINS; b++) {
		struct outcome one = best_margin(&bins[b], interval, price);

		all.late += one.late;
		all.polled += one.polled;
	}
	return all;
}

/*
 * The least polling with which no more than @late sleeps are late, known in hindsight: the price
 * of a late sleep is the same in all circumstances, and found by bisection.
 */
static struct outcome hindsight(const struct bin *bins, int64_t interval, uint64_t late)
{
	double low = 1, high = 1e12;

	for (int i = 0; i < 60; i++) {
		double price = sqrt(low * high);

		if (hindsight_at(bins, interval, price).late > late)
			low = price;
		else
			high = price;
	}
	return hindsight_at(bins, interval, high);
}

static int bins_fill(const struct series *series, enum condition condition, struct bin *bins)
{
	int64_t *sorted = malloc(series->count * sizeof(*sorted));
	int ret = sorted ? 0 : -ENOMEM;

	for (size_t i = 0; !ret && i < series->count; i++)
		sorted[i] = series->sleep[i].oversleep;
	if (!ret)
		sort_ns(sorted, series->count);
	for (unsigned int b = 0; b < BINS; b++) {
		bins[b] = (struct bin){ malloc(series->count * sizeof(*sorted)), 0 };
		if (!bins[b].oversleep)
			ret = -ENOMEM;
	}
	for (size_t i = 0; !ret && i < series->count; i++) {
		struct bin *bin = &bins[bin_of(series, condition, sorted, i)];

		bin->oversleep[bin->count++] = series->sleep[i].oversleep;
	}
	for (unsigned int b = 0; !ret && b < BINS; b++)
		sort_ns(bins[b].oversleep, bins[b].count);
	free(sorted);
	return ret;
}

/* ---- tables and chart ------------------------------------------------------------------- */

#define SETTINGS	6

static const uint32_t late_ppm[SETTINGS] = { 100000, 33333, 0, 10000, 3333, 1000 };

struct point {
	double late, polled;	/* shares */
};

struct curves {
	struct point ours[SETTINGS], optimum[CONDITIONS][SETTINGS], filter[3];
};

static struct point point_of(const struct series *series, struct outcome out)
{
	return (struct point){ (double)out.late / series->count,
			       (double)out.polled / series->count / series->interval };
}

static int measure(const struct series *series, struct curves *curves)
{
	uint64_t late[SETTINGS];
	int ret = 0;

	for (int i = 0; i < SETTINGS; i++) {
		struct clockfix_options options;
		struct outcome out;

		clockfix_options_init(&options);
		options.late_ppm = late_ppm[i];
		out = replay(series, &options);
		late[i] = out.late;
		curves->ours[i] = point_of(series, out);
	}
	for (int i = 0; i < 3; i++)
		curves->filter[i] = point_of(series, replay_filter(series, FILTER_MAX, 32u << i));
	for (enum condition c = 0; c < CONDITIONS && !ret; c++) {
		struct bin bins[BINS];

		ret = bins_fill(series, c, bins);
		for (int i = 0; i < SETTINGS && !ret; i++)
			curves->optimum[c][i] = point_of(series, hindsight(bins, series->interval,
									   late[i]));
		for (unsigned int b = 0; b < BINS; b++)
			free(bins[b].oversleep);
	}
	return ret;
}

static void print_row(const char *name, const struct point *point, int count)
{
	printf("%-23s", name);
	for (int i = 0; i < count; i++)
		printf(" %6.2f/%-6.2f", 100 * point[i].late, 100 * point[i].polled);
	printf("\n");
}

static void print_table(const char *path, const struct series *series, const struct curves *curves)
{
	printf("\n%s: %zu sleeps, one each %lld us\nlater than 1 us / time polled, in percent\n%-23s",
	       path, series->count, (long long)series->interval / 1000, "late_ppm");
	for (int i = 0; i < SETTINGS; i++) {
		if (late_ppm[i])
			printf(" %7u      ", late_ppm[i]);
		else
			printf(" default      ");
	}
	printf("\n");
	print_row("clockfix", curves->ours, SETTINGS);
	for (enum condition c = 0; c < CONDITIONS; c++)
		print_row(condition_text[c], curves->optimum[c], SETTINGS);
	print_row("maximum of 32, 64, 128", curves->filter, 3);
}

/* Polled time upwards, late sleeps to the right from 0.01 to 100 %, by a logarithmic scale. */
static void draw(FILE *f, const struct point *point, int count, const char *colour,
		 const char *name, int row)
{
	fprintf(f, "<g fill=\"%s\" stroke=\"%s\"><polyline fill=\"none\" points=\"", colour, colour);
	for (int i = 0; i < count; i++)
		fprintf(f, "%.1f,%.1f ", 60 + 130 * (4 + log10(point[i].late + 1e-4)),
			340 - 300 * point[i].polled);
	fprintf(f, "\"/>");
	for (int i = 0; i < count; i++)
		fprintf(f, "<circle r=\"3\" cx=\"%.1f\" cy=\"%.1f\"/>",
			60 + 130 * (4 + log10(point[i].late + 1e-4)), 340 - 300 * point[i].polled);
	fprintf(f, "<text stroke=\"none\" x=\"400\" y=\"%d\">%s</text></g>\n", 40 + 18 * row, name);
}

static int write_chart(const char *path, const struct curves *curves)
{
	static const char *const colour[] = { "#888", "#390", "#c60" };
	FILE *f = fopen(path, "w");
	bool failed;

	if (!f)
		return -errno;
	fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 620 390\" "
		"font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"620\" height=\"390\" "
		"fill=\"#fff\"/><path d=\"M60 40V340H580\" fill=\"none\" stroke=\"#000\"/>\n");
	for (int i = 0; i <= 4; i++)
		fprintf(f, "<text x=\"%d\" y=\"358\" text-anchor=\"middle\">%g %%</text>"
			"<text x=\"52\" y=\"%d\" text-anchor=\"end\">%d %%</text>\n", 60 + 130 * i,
			0.01 * pow(10, i), 344 - 75 * i, 25 * i);
	fprintf(f, "<text x=\"320\" y=\"380\" text-anchor=\"middle\">sleeps late by more than 1 us"
		"</text><text x=\"60\" y=\"28\">time polled</text>\n");
	draw(f, curves->ours, SETTINGS, "#06c", "clockfix", 0);
	for (int c = 0; c < CONDITIONS; c++)
		draw(f, curves->optimum[c], SETTINGS, colour[c], condition_text[c], 1 + c);
	draw(f, curves->filter, 3, "#a0a", "maximum of 32, 64, 128", 1 + CONDITIONS);
	fprintf(f, "</svg>\n");
	failed = ferror(f);
	return fclose(f) || failed ? -EIO : 0;
}

static int replay_file(const char *path, const char *chart)
{
	struct series series;
	struct curves curves;
	int ret = series_read(path, &series);

	if (ret) {
		fprintf(stderr, "clockfix-bench: %s: %s\n", path,
			ret == -EINVAL ? "no series of oversleeps; 'clockfix-bench record' makes one" :
					 strerror(-ret));
		free(series.sleep);
		return ret;
	}
	ret = measure(&series, &curves);
	if (!ret)
		print_table(path, &series, &curves);
	free(series.sleep);
	if (ret || !chart)
		return ret;
	ret = write_chart(chart, &curves);
	if (ret)
		fprintf(stderr, "clockfix-bench: can't write %s: %s\n", chart, strerror(-ret));
	return ret;
}

int verb_replay(const struct bench_options *opt, int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "clockfix-bench: replay: name series; 'clockfix-bench record' makes "
			"them\n");
		return 2;
	}
	for (int i = 1; i < argc; i++) {
		if (replay_file(argv[i], i == 1 ? opt->chart : NULL))
			return 1;
	}
	return 0;
}

/* ---- recording -------------------------------------------------------------------------- */

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
