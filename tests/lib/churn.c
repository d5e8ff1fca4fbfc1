// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "churn.h"
#include "task.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* splitmix64: every seed gives a good sequence. */
static u64 next_random(u64 *state)
{
	u64 z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

u64 pick(u64 *random, u64 limit)
{
	return next_random(random) % limit;
}

u64 pick_between(u64 *random, u64 low, u64 high)
{
	return low + pick(random, high - low + 1);
}

u64 pick_delay(u64 *random)
{
	switch (pick(random, 8)) {
	case 0:
		return pick_between(random, 1, 20 * USEC);
	case 1:
		return pick_between(random, 5 * MSEC, 30 * MSEC) * slowness();
	default:
		return pick_between(random, 20 * USEC, 5 * MSEC) * slowness();
	}
}

bool churn_stopped(const struct churn *churn)
{
	return __atomic_load_n(&churn->stop, __ATOMIC_ACQUIRE);
}

void read_idle_times(struct idle_times *times)
{
	FILE *file = fopen("/proc/stat", "re");
	u64 tick = SEC / (u64)sysconf(_SC_CLK_TCK);
	unsigned long long idle, iowait;
	char line[256];
	int cpu;

	require(file, "/proc/stat: %m");
	for (cpu = 0; cpu < MAX_CPUS; cpu++)
		times->cpus[cpu] = CPU_IS_OFFLINE;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "cpu%d %*u %*u %*u %llu %llu", &cpu, &idle, &iowait) == 3 &&
		    cpu < MAX_CPUS)
			times->cpus[cpu] = (idle + iowait) * tick;
	fclose(file);
}

u64 least_idle(const struct idle_times *before, const struct idle_times *after)
{
	u64 least = UINT64_MAX;

	for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
		u64 from = before->cpus[cpu], to = after->cpus[cpu];

		if (from != CPU_IS_OFFLINE && to != CPU_IS_OFFLINE && to - from < least)
			least = to - from;
	}
	return least;
}

void blame(struct worker *worker, enum fault fault, const char *format, ...)
{
	va_list args;

	if (worker->faults[fault]++)
		return;
	va_start(args, format);
	vsnprintf(worker->first[fault], sizeof(worker->first[fault]), format, args);
	va_end(args);
}

void account(struct worker *worker, u64 due, const char *what)
{
	u64 time = now();

	worker->fired++;
	if (time < due) {
		blame(worker, EARLY, "%s: %llu ns early", what, due - time);
		return;
	}
	if (time - due > worker->late)
		worker->late = time - due;
}
