// SPDX-License-Identifier: LGPL-2.1-or-later
/* samples.c - percentiles, and how much time the hypervisor took from a CPU */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

double steal_ms(int cpu)
{
	unsigned long long ticks = 0;
	char line[512], name[16];
	FILE *f = fopen("/proc/stat", "r");

	if (!f)
		return 0;
	snprintf(name, sizeof(name), "cpu%d ", cpu);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, name, strlen(name)))
			continue;
		sscanf(line + strlen(name), "%*u %*u %*u %*u %*u %*u %*u %llu", &ticks);
		break;
	}
	fclose(f);
	return ticks * 1000.0 / sysconf(_SC_CLK_TCK);
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

void sort_ns(int64_t *ns, size_t count)
{
	qsort(ns, count, sizeof(*ns), compare);
}

static double over_1us(const int64_t *sorted, uint64_t count)
{
	uint64_t over = 0;

	while (over < count && sorted[count - 1 - over] > 1000)
		over++;
	return (double)over / count;
}

struct mean {
	double sum, squares;
	unsigned int count;
};

static void mean_add(struct mean *mean, double value)
{
	mean->sum += value;
	mean->squares += value * value;
	mean->count++;
}

static double mean_error(const struct mean *mean)
{
	double n = mean->count, variance;

	if (n < 2)
		return 0;
	variance = (mean->squares - mean->sum * mean->sum / n) / (n - 1);
	return variance > 0 ? sqrt(variance / n) : 0;
}

/* How much rounds differ; sorts the samples of each. */
static void compare_rounds(struct cell *cell)
{
	struct mean p99 = { 0 }, over = { 0 };
	uint64_t begin = 0;

	for (unsigned int i = 0; i < cell->rounds; begin = cell->round_end[i++]) {
		uint64_t count = cell->round_end[i] - begin;
		int64_t *late = cell->late + begin;

		if (!count)
			continue;
		sort_ns(late, count);
		mean_add(&p99, late[(uint64_t)((count - 1) * 0.99)]);
		mean_add(&over, over_1us(late, count));
	}
	cell->sum.p99_error = mean_error(&p99);
	cell->sum.over_1us_error = mean_error(&over);
}

void cell_summarise(struct cell *cell)
{
	struct summary *sum = &cell->sum;
	uint64_t count = cell->count;
	int64_t *late = cell->late;

	sum->count = count;
	sum->cpu = cell->elapsed ? (double)cell->cpu / cell->elapsed : 0;
	if (!count)
		return;
	compare_rounds(cell);
	sort_ns(late, count);
#define AT(q) late[(uint64_t)((count - 1) * (q))]
	sum->p1 = AT(0.01);
	sum->p50 = AT(0.5);
	sum->p95 = AT(0.95);
	sum->p99 = AT(0.99);
	sum->p999 = AT(0.999);
	sum->max = late[count - 1];
	for (int i = 0; i <= CDF_POINTS; i++)
		sum->cdf[i] = AT((double)i / CDF_POINTS);
#undef AT
	while (sum->early < count && late[sum->early] < 0)
		sum->early++;
	sum->over_1us = over_1us(late, count);
}
