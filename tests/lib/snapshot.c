// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "snapshot.h"
#include "file.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_MAX 8192
#define FAULTS_SHOWN 10

static void add_line(struct snapshot *snapshot, const char *what, const char *value)
{
	size_t needed = strlen(what) + strlen(value) + 3;

	if (snapshot->length + needed > snapshot->size) {
		snapshot->size = (snapshot->size + needed) * 2;
		snapshot->text = realloc(snapshot->text, snapshot->size);
		require(snapshot->text, "out of memory");
	}
	snapshot->length += sprintf(snapshot->text + snapshot->length, "%s %s\n", what, value);
}

static void add_file(struct snapshot *snapshot, const char *path)
{
	static char value[VALUE_MAX];

	if (file_read(path, value, sizeof(value)) < 0)
		return;
	for (char *at = value; *at; at++)
		if (*at == '\n')
			*at = '|';
	add_line(snapshot, path, value);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int no_dots(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
}

static void for_each(const char *directory, struct snapshot *snapshot,
		     void (*function)(struct snapshot *snapshot, const char *path,
				      const struct dirent *entry))
{
	struct dirent **entries;
	char path[512];
	int n = scandir(directory, &entries, no_dots, by_name);

	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
		function(snapshot, path, entries[i]);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

static void add_irq(struct snapshot *snapshot, const char *path, const struct dirent *entry)
{
	char file[600];

	if (entry->d_type != DT_DIR)
		return;
	snprintf(file, sizeof(file), "%s/smp_affinity_list", path);
	add_file(snapshot, file);
}

/* Of a CPU. */
static void add_fair_server(struct snapshot *snapshot, const char *path,
			    const struct dirent *entry)
{
	char file[600];

	snprintf(file, sizeof(file), "%s/runtime", path);
	add_file(snapshot, file);
}

/* A cgroup's processes are not compared: the tests' own come and go. */
static void add_cgroup(struct snapshot *snapshot, const char *path, const struct dirent *entry)
{
	if (entry->d_type == DT_DIR) {
		add_line(snapshot, path, "directory");
		for_each(path, snapshot, add_cgroup);
	} else if (!strcmp(entry->d_name, "cgroup.subtree_control") ||
		   !strncmp(entry->d_name, "cpuset.", 7)) {
		add_file(snapshot, path);
	}
}

static void add_plain(struct snapshot *snapshot, const char *path, const struct dirent *entry)
{
	if (entry->d_type == DT_REG && strcmp(entry->d_name, "lock"))
		add_file(snapshot, path);
}

static bool irq_has_mask(unsigned int irq, const char *file, const char *mask)
{
	char path[64], place[256];

	snprintf(path, sizeof(path), "/proc/irq/%u/%s", irq, file);
	if (file_read(path, place, sizeof(place)) < 0)
		return false;
	place[strcspn(place, "\n")] = '\0';
	return !strcmp(place, mask);
}

/*
 * The thread of an interrupt goes where the kernel sends that, which may be elsewhere
 * now. It does so when it serves the first one: before, it may run where that may go.
 */
static bool is_with_its_interrupt(const char *name, const char *mask)
{
	unsigned int irq;

	return sscanf(name, "irq/%u-", &irq) == 1 &&
	       (irq_has_mask(irq, "effective_affinity", mask) ||
		irq_has_mask(irq, "smp_affinity", mask));
}

/* "task TID NAME" and its mask, policy and priority. */
static void add_task(struct snapshot *snapshot, const char *path, const struct dirent *entry)
{
	char text[4096], file[600], what[512], value[1100], *name, *mask;
	struct sched_param parameter = { 0 };
	const pid_t tid = atoi(entry->d_name);

	snprintf(file, sizeof(file), "%s/status", path);
	if (file_read(file, text, sizeof(text)) < 0)
		return;
	name = strstr(text, "Name:\t");
	mask = strstr(text, "Cpus_allowed:\t");
	if (!name || !mask || !strncmp(name + 6, "kworker", 7) || strstr(text, "State:\tZ"))
		return;
	name[strcspn(name, "\n")] = '\0';
	mask[strcspn(mask, "\n")] = '\0';
	snprintf(what, sizeof(what), "task %s %s", entry->d_name, name + 6);
	mask += strlen("Cpus_allowed:\t");
	sched_getparam(tid, &parameter);
	snprintf(value, sizeof(value), "%.1000s,policy=%d:%d",
		 is_with_its_interrupt(name + 6, mask) ? "its-interrupt's" : mask,
		 sched_getscheduler(tid), parameter.sched_priority);
	add_line(snapshot, what, value);
}

static void add_process(struct snapshot *snapshot, const char *path, const struct dirent *entry)
{
	char directory[600];

	if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
		return;
	snprintf(directory, sizeof(directory), "%s/task", path);
	for_each(directory, snapshot, add_task);
}

void snapshot_take(struct snapshot *snapshot)
{
	memset(snapshot, 0, sizeof(*snapshot));
	add_file(snapshot, "/proc/irq/default_smp_affinity");
	for_each("/proc/irq", snapshot, add_irq);
	add_file(snapshot, "/sys/class/net/lo/queues/rx-0/rps_cpus");
	add_file(snapshot, "/sys/devices/virtual/workqueue/cpumask");
	add_file(snapshot, "/sys/devices/virtual/workqueue/cpumask_requested");
	add_file(snapshot, "/sys/devices/virtual/workqueue/cpumask_isolated");
	for_each("/sys/kernel/debug/sched/fair_server", snapshot, add_fair_server);
	for_each("/sys/fs/cgroup", snapshot, add_cgroup);
	for_each("/run/timershield", snapshot, add_plain);
	for_each("/proc", snapshot, add_process);
}

void snapshot_free(struct snapshot *snapshot)
{
	free(snapshot->text);
	memset(snapshot, 0, sizeof(*snapshot));
}

static const char *find_line(const struct snapshot *snapshot, const char *line, size_t length)
{
	const char *at = snapshot->text;

	while (at && *at) {
		if (!strncmp(at, line, length))
			return at;
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	return NULL;
}

/* The length of "WHAT ", blanks included: all but the last word. */
static size_t key_length(const char *line)
{
	const char *end = line + strcspn(line, "\n");

	if (strncmp(line, "task ", 5))
		return strcspn(line, " ") + 1;
	while (end > line && end[-1] != ' ')
		end--;
	return end - line;
}

static unsigned int compare_lines(const struct snapshot *one, const struct snapshot *other,
				  const char *when, bool backwards)
{
	unsigned int faults = 0;

	for (const char *line = one->text; *line; line = strchr(line, '\n') + 1) {
		const char *same = find_line(other, line, key_length(line));
		size_t length = strcspn(line, "\n");

		if (same && (backwards || !strncmp(same, line, length + 1)))
			continue;
		if (!same && !strncmp(line, "task ", 5))
			continue;
		if (faults++ < FAULTS_SHOWN)
			fault("%s: %s'%.*s'%s%.*s", when, backwards ? "there is now " : "",
			      (int)length, line, backwards ? "" : same ? " is now " : " has gone",
			      same && !backwards ? (int)strcspn(same, "\n") : 0,
			      same && !backwards ? same : "");
	}
	return faults;
}

unsigned int snapshot_compare(const struct snapshot *before, const struct snapshot *after,
			      const char *when)
{
	if (before->length == after->length && !memcmp(before->text, after->text, after->length))
		return 0;
	return compare_lines(before, after, when, false) +
	       compare_lines(after, before, when, true);
}

unsigned int snapshot_check(const struct snapshot *before, const char *when)
{
	struct snapshot after;
	unsigned int faults;

	snapshot_take(&after);
	faults = snapshot_compare(before, &after, when);
	snapshot_free(&after);
	return faults;
}
