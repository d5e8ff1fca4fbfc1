// SPDX-License-Identifier: GPL-2.0-or-later
#include "worst_wakeups.h"

#include "blame/blame_print.h"
#include "lib/file.h"
#include "lib/message.h"
#include "lib/output.h"

#include <sys/stat.h>
#include <time.h>

#define RESULT_DIRECTORY "/var/lib/timershield"
#define RESULT RESULT_DIRECTORY "/measure.json"
#define BAR 50

static const struct {
	const char *name;
	unsigned int of_a_million;
} percentiles[] = {
	{ "p50", 500000 }, { "p90", 900000 }, { "p99", 990000 }, { "p99.9", 999000 },
	{ "p99.99", 999900 },
};

static double noise(const struct loop *loop)
{
	return loop->spun ? 100.0 * (double)loop->lost / (double)loop->spun : 0;
}

static char *summary(const struct loop *loop)
{
	autofree char *level = loop->priority ? format("FIFO %d", loop->priority) : copy("OTHER");

	return format("CPU %u, %s, every %llu us: latency p50 %llu, p99.9 %llu, max %.1f us in %llu "
		      "wake-ups; noise %.3f %%, longest %.1f us", loop->cpu, level,
		      (unsigned long long)loop->interval / 1000,
		      (unsigned long long)loop_percentile(loop, 500000),
		      (unsigned long long)loop_percentile(loop, 999000), microseconds(loop->longest),
		      (unsigned long long)loop->wakeups, noise(loop), microseconds(loop->longest_gap));
}

void measure_save(const struct loop *loop)
{
	autofree char *sentence = summary(loop), *directory = file_path(RESULT_DIRECTORY);
	char date[32];
	autotext struct text text = { 0 };
	time_t now = time(NULL);
	struct tm parts;
	int ret = 0;

	localtime_r(&now, &parts);
	strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &parts);
	text_add(&text, "{\n  \"date\": \"%s\",\n  \"summary\": \"%s\",\n", date, sentence);
	text_add(&text, "  \"cpu\": %u,\n  \"priority\": %d,\n  \"interval_us\": %llu,\n"
		 "  \"wakeups\": %llu,\n  \"max_ns\": %llu,\n  \"longest_noise_ns\": %llu\n}\n",
		 loop->cpu, loop->priority, (unsigned long long)loop->interval / 1000,
		 (unsigned long long)loop->wakeups, (unsigned long long)loop->longest,
		 (unsigned long long)loop->longest_gap);
	if (mkdir(directory, 0755) && errno != EEXIST)
		ret = -errno;
	if (!ret)
		ret = file_replace(RESULT, text.s, text.length);
	if (ret)
		notice(RESULT ": %s; 'timershield status' will not quote this", strerror(-ret));
}

/* A line's values grow with them: 1, 2, ... 9, 10, 20, ... us. */
static u64 next_edge(u64 edge)
{
	u64 step = 1;

	while (edge >= step * 10)
		step *= 10;
	return edge + step;
}

/* How many wake-ups took more than EDGE, NEXT at most. */
static u64 count_between(const struct loop *loop, u64 edge, u64 next)
{
	u64 sum = edge ? 0 : loop->histogram[0];

	for (u64 i = edge + 1; i <= next && i < HISTOGRAM_US; i++)
		sum += loop->histogram[i];
	return sum;
}

static void draw_histogram(const struct loop *loop)
{
	u64 most = 1, sum;

	for (u64 edge = 0; edge < HISTOGRAM_US; edge = next_edge(edge)) {
		sum = count_between(loop, edge, next_edge(edge));
		most = sum > most ? sum : most;
	}
	for (u64 edge = 0; edge < HISTOGRAM_US; edge = next_edge(edge)) {
		sum = count_between(loop, edge, next_edge(edge));
		if (!sum)
			continue;
		if (next_edge(edge) < HISTOGRAM_US)
			printf("  %5llu - %-5llu", (unsigned long long)edge,
			       (unsigned long long)next_edge(edge));
		else
			printf("  %5llu - more ", (unsigned long long)edge);
		printf(" us %10llu  ", (unsigned long long)sum);
		for (u64 i = 0; i < (sum * BAR + most - 1) / most; i++)
			putchar('#');
		putchar('\n');
	}
}

void measure_print_text(const struct loop *loops, unsigned int count, unsigned int worst,
			const struct report *report)
{
	const struct loop *loop = &loops[worst];
	autofree char *sentence = summary(loop);

	for (unsigned int i = 0; i < count && count > 1; i++) {
		autofree char *line = summary(&loops[i]);

		puts(line);
	}
	printf("%s%s\n\nwake-up latency, us: min %.1f  avg %.1f", count > 1 ? "\nThe worst: " : "", sentence, microseconds(loop->shortest),
	       microseconds(loop->total) / (double)loop->wakeups);
	for (size_t i = 0; i < ARRAY_SIZE(percentiles); i++)
		printf("  %s %llu", percentiles[i].name, (unsigned long long)
		       loop_percentile(loop, percentiles[i].of_a_million));
	printf("  max %.1f\n", microseconds(loop->longest));
	draw_histogram(loop);
	printf("while running: %.3f %% taken in %llu gaps, the longest %.1f us\n", noise(loop),
	       (unsigned long long)loop->gaps, microseconds(loop->longest_gap));
	if (loop->missed)
		printf("missed: %llu intervals that had passed when it woke up\n",
		       (unsigned long long)loop->missed);
	if (report->count) {
		printf("\nThe worst %d wake-ups were %.1f us late in all. What the CPU did then:\n",
		       WORST, microseconds(report->victims[0].sums.taken));
		culprits_print(&report->victims[0], 15, false);
	}
}

void measure_csv(const struct loop *loop)
{
	puts("latency_up_to_us,wakeups");
	for (unsigned int i = 0; i < HISTOGRAM_US - 1; i++)
		if (loop->histogram[i])
			printf("%u,%llu\n", i, (unsigned long long)loop->histogram[i]);
	if (loop->histogram[HISTOGRAM_US - 1])
		printf("%llu,%llu\n", (unsigned long long)(loop->longest + 999) / 1000,
		       (unsigned long long)loop->histogram[HISTOGRAM_US - 1]);
}

static void json_histogram(const struct loop *loop)
{
	json_open("histogram_us", '{');
	for (unsigned int i = 0; i < HISTOGRAM_US; i++) {
		autofree char *bucket = i < HISTOGRAM_US - 1 ? format("%u", i) : copy("more");

		if (loop->histogram[i])
			json_number(bucket, loop->histogram[i]);
	}
	json_close('}');
}

void measure_json(const struct loop *loops, unsigned int count, unsigned int worst,
		  const struct report *report)
{
	const struct loop *loop = &loops[worst];
	autofree char *sentence = summary(loop);

	json_open(NULL, '{');
	json_string("summary", sentence);
	json_number("cpu", loop->cpu);
	json_number("priority", (unsigned int)loop->priority);
	json_number("interval_us", loop->interval / 1000);
	json_number("wakeups", loop->wakeups);
	json_number("missed", loop->missed);
	json_number("min_ns", loop->shortest);
	json_number("avg_ns", loop->total / loop->wakeups);
	json_number("max_ns", loop->longest);
	json_open("percentiles_us", '{');
	for (size_t i = 0; i < ARRAY_SIZE(percentiles); i++)
		json_number(percentiles[i].name,
			    loop_percentile(loop, percentiles[i].of_a_million));
	json_close('}');
	json_number("ran_ns", loop->spun);
	json_number("noise_ns", loop->lost);
	json_number("noise_gaps", loop->gaps);
	json_number("noise_longest_ns", loop->longest_gap);
	json_histogram(loop);
	json_open("cpus", '[');
	for (unsigned int i = 0; i < count; i++) {
		json_open(NULL, '{');
		json_number("cpu", loops[i].cpu);
		json_number("wakeups", loops[i].wakeups);
		json_number("max_ns", loops[i].longest);
		json_number("noise_ns", loops[i].lost);
		json_close('}');
	}
	json_close(']');
	json_open("worst_wakeups", '{');
	report_print_json(report);
	json_close('}');
	json_close('}');
}
