// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * samples.c - percentiles, and which samples were taken while the CPU was stolen
 *
 * The hypervisor tells the guest's kernel how long a virtual CPU was runnable and did not run;
 * the kernel shows the sum as the steal column of /proc/stat, in steps of a tick. A thread on
 * another CPU reads it each 10 ms. A sample counts as stolen if the column grew in the window
 * in which it fell, or in one of the two windows beside it. Theft that does not add up to a tick
 * is not told, so the figures without stolen samples still contain some.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define WINDOW 10000000LL

struct window {
	int64_t from, to;
	uint64_t ticks;
};

static struct {
	pthread_t thread;
	int cpu;
	atomic_bool stop;
	struct window *window;	/* those with theft only */
	size_t count, room;
	uint64_t ticks;
} steal;

static uint64_t steal_read(int cpu)
{
	unsigned long long val[8] = { 0 };
	char line[512], name[16];
	uint64_t ticks = 0;
	size_t len;
	FILE *f = fopen("/proc/stat", "r");

	if (!f)
		return 0;
	snprintf(name, sizeof(name), "cpu%d ", cpu);
	len = strlen(name);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, name, len))
			continue;
		if (sscanf(line + len, "%llu %llu %llu %llu %llu %llu %llu %llu", &val[0], &val[1],
			   &val[2], &val[3], &val[4], &val[5], &val[6], &val[7]) == 8)
			ticks = val[7];
		break;
	}
	fclose(f);
	return ticks;
}

static void steal_note(int64_t from, int64_t to, uint64_t ticks)
{
	if (steal.count == steal.room) {
		size_t room = steal.room ? 2 * steal.room : 1024;
		struct window *more = realloc(steal.window, room * sizeof(*more));

		if (!more)
			return;
		steal.window = more;
		steal.room = room;
	}
	steal.window[steal.count++] = (struct window){ from, to, ticks };
}

static void *steal_thread(void *arg)
{
	uint64_t last = steal_read(steal.cpu);
	int64_t from = now_ns();

	(void)arg;
	while (!steal.stop) {
		struct timespec ts = { .tv_nsec = WINDOW };
		int64_t to;
		uint64_t ticks;

		nanosleep(&ts, NULL);
		to = now_ns();
		ticks = steal_read(steal.cpu);
		if (ticks != last) {
			steal_note(from - WINDOW, to + WINDOW, ticks - last);
			steal.ticks += ticks - last;
		}
		last = ticks;
		from = to;
	}
	return NULL;
}

int steal_watch(int cpu)
{
	pthread_attr_t attr;
	cpu_set_t set;
	int ret;

	steal.cpu = cpu;
	pthread_attr_init(&attr);
	if (!sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) > 1) {
		CPU_CLR(cpu, &set);
		pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	}
	ret = -pthread_create(&steal.thread, &attr, steal_thread, NULL);
	pthread_attr_destroy(&attr);
	return ret;
}

void steal_unwatch(void)
{
	steal.stop = true;
	pthread_join(steal.thread, NULL);
}

double steal_total_ms(void)
{
	return steal.ticks * 1000.0 / sysconf(_SC_CLK_TCK);
}

bool steal_at(int64_t start, int64_t late)
{
	size_t low = 0, high = steal.count;

	/* first window that ends after the instant */
	while (low < high) {
		size_t mid = (low + high) / 2;

		if (steal.window[mid].to < start - late)
			low = mid + 1;
		else
			high = mid;
	}
	return low < steal.count && steal.window[low].from <= start;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void summarise(struct summary *sum, int64_t *late, uint64_t count)
{
	uint64_t over = 0;

	memset(sum, 0, sizeof(*sum));
	sum->count = count;
	if (!count)
		return;
	qsort(late, count, sizeof(*late), compare);
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

void cell_summarise(struct cell *cell)
{
	int64_t *late = malloc((cell->count + 1) * sizeof(*late));
	uint64_t left = 0;

	if (!late)
		return;
	for (uint64_t i = 0; i < cell->count; i++)
		late[i] = cell->sample[i].late;
	summarise(&cell->all, late, cell->count);
	for (uint64_t i = 0; i < cell->count; i++) {
		if (!steal_at(cell->sample[i].start, cell->sample[i].late))
			late[left++] = cell->sample[i].late;
	}
	summarise(&cell->unstolen, late, left);
	free(late);
}
