// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which tasks ran on the measured CPU, which interrupts came there, and how often it processed
 * packets, from the kernel's tracepoints sched_switch, irq_handler_entry and softirq_entry:
 * visitors.csv. A kernel thread that
 * is bound to that CPU is not foreign there, nor are the idle and the measured task.
 */
#define _GNU_SOURCE
#include "isolated.h"
#include "clock.h"
#include "csv.h"
#include "file.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRACE "/sys/kernel/tracing/"
#define CPU_TRACE TRACE "per_cpu/cpu0/"
#define MAX_VISITORS 512
#define NET_RX "3"

static const char task[] = "task", irq[] = "irq", softirq[] = "softirq";

struct visitor {
	const char *kind;
	int id;
	char name[32];
	bool bound;
	uint64_t first_ms, later;	/* how often, after the isolation began */
};

static struct visitor visitors[MAX_VISITORS];
static unsigned int count;

int trace_start(void)
{
	static const char *const settings[][2] = {
		{ TRACE "tracing_on", "0" },
		{ TRACE "trace_clock", "mono" },
		{ CPU_TRACE "buffer_size_kb", "16384" },
		{ TRACE "options/overwrite", "0" },
		{ TRACE "trace", "" },
		{ TRACE "events/sched/sched_switch/enable", "1" },
		{ TRACE "events/irq/irq_handler_entry/enable", "1" },
		{ TRACE "events/irq/softirq_entry/filter", "vec == " NET_RX },
		{ TRACE "events/irq/softirq_entry/enable", "1" },
		{ TRACE "tracing_on", "1" },
	};

	for (unsigned int i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		int ret = file_write(settings[i][0], settings[i][1]);

		if (ret && *settings[i][1]) {
			fprintf(stderr, "isolated_cpu: %s: %s\n", settings[i][0], strerror(-ret));
			return ret;
		}
	}
	return 0;
}

/* A kernel thread that may run on the measured CPU alone. */
static bool is_bound(int pid)
{
	char path[64], target[8];
	cpu_set_t cpus;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return readlink(path, target, sizeof(target)) < 0 && errno == ENOENT &&
	       !sched_getaffinity(pid, sizeof(cpus), &cpus) && CPU_COUNT(&cpus) == 1 &&
	       CPU_ISSET(MEASURED_CPU, &cpus);
}

static struct visitor *find(const struct run *run, const char *kind, int id, const char *name)
{
	struct visitor *visitor;

	for (unsigned int i = 0; i < count; i++)
		if (visitors[i].kind == kind && visitors[i].id == id)
			return &visitors[i];
	if (count == MAX_VISITORS)
		return NULL;
	visitor = &visitors[count++];
	visitor->kind = kind;
	visitor->id = id;
	snprintf(visitor->name, sizeof(visitor->name), "%s", name);
	visitor->bound = kind == task && (!id || id == run->pid || is_bound(id));
	return visitor;
}

/* The word after KEY, up to the next blank; what else is in the line may follow. */
static bool field(const char *line, const char *key, char *value, size_t size)
{
	const char *at = strstr(line, key);

	if (!at)
		return false;
	at += strlen(key);
	snprintf(value, size, "%.*s", (int)strcspn(at, " \n"), at);
	return true;
}

static int64_t timestamp(const char *line)
{
	const char *end = strstr(line, ": ");
	unsigned long long seconds, micros;

	while (end && end > line && end[-1] != ' ')
		end--;
	if (!end || sscanf(end, "%llu.%llu:", &seconds, &micros) != 2)
		return 0;
	return seconds * NSEC_PER_SEC + micros * NSEC_PER_USEC;
}

static void take_line(const char *line, const struct run *run, uint64_t *unnamed)
{
	int64_t time = timestamp(line);
	struct visitor *visitor;
	char id[16], name[32] = "";
	const char *kind = task;

	if (line[0] == '#' || time < run->isolated_ns)
		return;
	if (strstr(line, "irq_handler_entry:")) {
		kind = irq;
		if (!field(line, "irq=", id, sizeof(id)) ||
		    !field(line, "name=", name, sizeof(name)))
			return;
	} else if (field(line, "softirq_entry: vec=", id, sizeof(id))) {
		kind = softirq;
		snprintf(name, sizeof(name), "NET_RX");
	} else if (!field(line, "next_pid=", id, sizeof(id)) ||
		   !field(line, "next_comm=", name, sizeof(name))) {
		return;
	}
	visitor = find(run, kind, atoi(id), name);
	if (!visitor)
		++*unnamed;
	else if (time < run->isolated_ns + NSEC_PER_MSEC)
		visitor->first_ms++;
	else
		visitor->later++;
}

static uint64_t dropped(void)
{
	FILE *file = fopen(CPU_TRACE "stats", "re");
	uint64_t n = 0, value;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "overrun: %" SCNu64, &value) == 1 ||
		    sscanf(line, "dropped events: %" SCNu64, &value) == 1)
			n += value;
	if (file)
		fclose(file);
	return n;
}

void trace_stop(void)
{
	file_write(TRACE "tracing_on", "0");
	file_write(TRACE "events/enable", "0");
}

int trace_write(const struct run *run)
{
	uint64_t unnamed = 0, lost = dropped();
	char line[512];
	FILE *file;

	file = fopen(CPU_TRACE "trace", "re");
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file))
		take_line(line, run, &unnamed);
	fclose(file);

	file = csv_create("visitors.csv", "kind,id,name,bound,first_ms,later");
	for (unsigned int i = 0; i < count; i++) {
		const struct visitor *v = &visitors[i];

		fprintf(file, "%s,%d,%s,%d,%" PRIu64 ",%" PRIu64 "\n", v->kind,
			v->id, v->name, v->bound, v->first_ms, v->later);
	}
	fprintf(file, "lost,0,events,0,0,%" PRIu64 "\n", lost + unnamed);
	csv_finish(file, "visitors.csv");
	return 0;
}
