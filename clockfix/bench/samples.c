// SPDX-License-Identifier: LGPL-2.1-or-later
/* samples.c - percentiles, and how much time the hypervisor took from a CPU */
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

void cell_summarise(struct cell *cell)
{
	struct summary *sum = &cell->sum;
	uint64_t count = cell->count, over = 0;
	int64_t *late = cell->late;

	sum->count = count;
	if (!count)
		return;
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
	while (over < count && late[count - 1 - over] > 1000)
		over++;
	sum->over_1us = (double)over / count;
}
