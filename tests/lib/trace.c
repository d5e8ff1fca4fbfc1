// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "trace.h"
#include "file.h"
#include "task.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define TRACING "/sys/kernel/tracing/"

static int switch_fd = -1;

static void write_or_fail(const char *name, const char *text)
{
	char path[128];
	int ret;

	snprintf(path, sizeof(path), TRACING "%s", name);
	ret = file_write(path, text);
	require(!ret, "%s: %s", path, strerror(-ret));
}

void trace_enable(const char *event)
{
	char name[128];

	snprintf(name, sizeof(name), "events/%s/enable", event);
	write_or_fail(name, "1");
}

void trace_clear(void)
{
	int fd = open(TRACING "trace", O_WRONLY | O_TRUNC | O_CLOEXEC);

	require(fd >= 0, TRACING "trace: %m");
	close(fd);
}

void trace_prepare(void)
{
	if (access(TRACING "trace", F_OK))
		mount("tracefs", TRACING, "tracefs", 0, NULL);
	write_or_fail("tracing_on", "0");
	write_or_fail("events/enable", "0");
	trace_clear();
	if (switch_fd < 0)
		switch_fd = open(TRACING "tracing_on", O_WRONLY | O_CLOEXEC);
	require(switch_fd >= 0, TRACING "tracing_on: %m");
}

static void trace_switch(const char *to)
{
	require(write(switch_fd, to, 1) == 1, TRACING "tracing_on: %m");
}

void trace_on(void)
{
	trace_switch("1");
}

void trace_off(void)
{
	trace_switch("0");
}

void trace_for_each(void (*function)(char *line, void *argument), void *argument)
{
	char path[128], line[512];
	FILE *trace;

	snprintf(path, sizeof(path), TRACING "per_cpu/cpu%d/trace", test_cpu);
	trace = fopen(path, "re");
	require(trace, "%s: %m", path);
	while (fgets(line, sizeof(line), trace))
		if (line[0] != '#')
			function(line, argument);
	fclose(trace);
}

/* Sums the lines that have one of the names, up to NULL, in them. */
static u64 interrupts(unsigned int cpu, const char *const *names)
{
	FILE *file = fopen("/proc/interrupts", "re");
	char line[1024];
	u64 count = 0;

	require(file, "/proc/interrupts: %m");
	while (fgets(line, sizeof(line), file)) {
		char *at = strchr(line, ':');
		u64 number = 0;
		bool named = false;

		for (const char *const *name = names; *name; name++)
			named |= strstr(line, *name) != NULL;
		if (!at || !named)
			continue;
		at++;
		for (unsigned int i = 0; i <= cpu; i++)
			number = strtoull(at, &at, 10);
		count += number;
	}
	fclose(file);
	return count;
}

/*
 * x86: " LOC:  1234  5678   Local timer interrupts"
 * arm64: " 11:  1234  5678  GICv3  27 Level  arch_timer"
 */
u64 timer_interrupts(unsigned int cpu)
{
	static const char *const names[] = { "LOC:", "arch_timer", NULL };

	return interrupts(cpu, names);
}

unsigned int hangs(void)
{
	FILE *list = fopen("/proc/timer_list", "re");
	unsigned int count = 0, cpu;
	char line[256];

	while (list && fgets(line, sizeof(line), list))
		if (sscanf(line, " .nr_hangs : %u", &cpu) == 1)
			count += cpu;
	if (list)
		fclose(list);
	return count;
}

/* x86: reschedule, function call, TLB shootdown; arm64: all that are sent */
u64 ipis(unsigned int cpu)
{
	static const char *const names[] = { "RES:", "CAL:", "TLB:", "IPI", NULL };

	return interrupts(cpu, names);
}
