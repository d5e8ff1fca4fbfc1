// SPDX-License-Identifier: LGPL-2.1-or-later
/* samples.c - print samples, and how much time the hypervisor took from a CPU */
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

void print_counts(const char *what, int64_t *ns, size_t count)
{
	qsort(ns, count, sizeof(*ns), compare);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && ns[end] == ns[i];)
			end++;
		printf("%s,%lld,%zu\n", what, (long long)ns[i], end - i);
	}
}
