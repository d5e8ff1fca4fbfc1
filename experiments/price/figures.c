// SPDX-License-Identifier: GPL-2.0-or-later
/* What is kept of the rows. */
#include "price.h"
#include "csv.h"

#include <stdio.h>
#include <stdlib.h>

static FILE *out;
static int mode;

void figures_begin(void)
{
	out = csv_create("price.csv", "name,kind,mode,value,samples");
}

void figures_of_mode(int of)
{
	mode = of;
}

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

void figures_end(int modes)
{
	FILE *summary = csv_create("summary.csv", "name,value");

	csv_finish(out, "price.csv");
	fprintf(summary, "modes,%d\n", modes);
	csv_finish(summary, "summary.csv");
}
