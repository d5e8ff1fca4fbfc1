// SPDX-License-Identifier: GPL-2.0-or-later
#include "price.h"
#include "csv.h"
#include "file.h"
#include "tasks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SWITCH "/proc/sys/kernel/timershield"
#define MODES 3

/* Periods that differ a little: some 30,000 wake-ups a second, as with those of THREADS */
#define THOUSAND "sleepers:n=1000,period=32000000,periods=drift"
#define THREADS "threads:n=120"
#define AT_ONCE ",priority=70,sync,period=20000000"

static const struct row rows[] = {
	{ "job", job, .number = 0 },
	{ "own-200", job, .number = 200 },
	{ "spare-90-levels", spare, .load = THOUSAND ",spread" },
	{ "spare-one-level", spare, .load = THOUSAND ",priority=70" },
	{ "spare-ordinary", spare, .load = THREADS },
	{ "sync-300", synchronized, .load = "sleepers:n=300" AT_ONCE },
	{ "sync-1000", synchronized, .load = "sleepers:n=1000" AT_ONCE },
	{ "release-apart", release, .number = 2500 },
	{ "release-together", release, .number = 0 },
	{ "pair-fifo", pair, .priority = { 80, 70 } },
	{ "pair-one-level", pair, .priority = { 70, 70 } },
	{ "pair-fifo-ordinary", pair, .priority = { 80, 0 } },
	{ "pair-ordinary", pair, .priority = { 0, 0 } },
	{ "neighbour", neighbour, .number = 0 },
};

static FILE *out;
static int mode;

void must(bool right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "price: %s: %m\n", what);
	exit(1);
}

void found(const struct row *row, const char *figure, double value, int samples)
{
	fprintf(out, "%s,%s,%d,%.3f,%d\n", row->name, figure, mode, value, samples);
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

void found_samples(const struct row *row, int64_t *samples, int count)
{
	double sum = 0;

	must(count > 0, "samples");
	for (int i = 0; i < count; i++)
		sum += samples[i];
	qsort(samples, count, sizeof(*samples), compare);
	found(row, "mean_ns", sum / count, count);
	found(row, "median_ns", samples[count / 2], count);
	found(row, "p99_ns", samples[count * 99ll / 100], count);
	found(row, "max_ns", samples[count - 1], count);
}

double timer_interrupts(void)
{
	FILE *file = fopen("/proc/interrupts", "re");
	char line[512];
	double sum = 0;

	must(file, "/proc/interrupts");
	while (fgets(line, sizeof(line), file)) {
		char *next = strstr(line, "LOC:"), *end;

		if (!next && strstr(line, "arch_timer"))
			next = strchr(line, ':') - 3;
		if (!next)
			continue;
		for (next += 4;; next = end) {
			uint64_t n = strtoull(next, &end, 10);

			if (end == next)
				break;
			sum += n;
		}
	}
	fclose(file);
	return sum;
}

int main(int argc, char **argv)
{
	FILE *summary;

	if (argc > 1) {
		fputs("Usage: price\nMeasure what the shield gives and costs, off and in each mode; "
		      "leave price.csv.\n", stderr);
		return 2;
	}
	if (mlockall(MCL_CURRENT | MCL_FUTURE) || task_pin(0))
		return 1;
	out = csv_create("price.csv", "name,kind,mode,value,samples");
	for (mode = 0; mode < MODES; mode++) {
		char text[] = { (char)('0' + mode), '\0' };

		must(!file_write(SWITCH, text), SWITCH);
		for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			rows[i].measure(&rows[i]);
	}
	csv_finish(out, "price.csv");
	summary = csv_create("summary.csv", "name,value");
	fprintf(summary, "modes,%d\n", MODES);
	csv_finish(summary, "summary.csv");
	return 0;
}
