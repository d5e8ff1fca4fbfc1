// SPDX-License-Identifier: GPL-2.0-or-later
/* Status: what interrupts the CPUs now. Counters are read twice, 0.1 s apart. */
#include "finding.h"
#include "lib/file.h"
#include "lib/task.h"
#include "lib/unseen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SAMPLE_NS 100000000
#define SOURCES_SHOWN 4
#define STEAL_BAD 1000			/* of a million */
#define INTERRUPTS "/proc/interrupts"

/* Adds up the counters of CPUs in one line of /proc/interrupts; the rest is its name. */
static unsigned long long sum_line(char *line, const unsigned int *columns, size_t count,
				   const struct cpus *cpus)
{
	unsigned long long sum = 0;

	for (size_t i = 0; i < count; i++) {
		char *end;
		unsigned long long value = strtoull(line, &end, 10);

		if (end == line)
			break;
		if (cpus_has(cpus, columns[i]))
			sum += value;
		line = end;
	}
	return sum;
}

struct source {
	char *name;			/* "LOC", or a number */
	unsigned long long count;
};

struct sources {
	struct source *items;
	size_t count;
};

static void free_sources(struct sources *sources)
{
	while (sources->count)
		free(sources->items[--sources->count].name);
	free(sources->items);
}

static unsigned int *parse_heading(char *line, size_t *count)
{
	unsigned int *columns = NULL;
	char *word;

	*count = 0;
	while ((word = strsep(&line, " ")))
		if (!strncmp(word, "CPU", 3))
			*append(columns, *count) = (unsigned int)strtoul(word + 3, NULL, 10);
	return columns;
}

static int read_sources(struct sources *sources, const struct cpus *cpus)
{
	autotext struct text text = { 0 };
	int ret = file_read(INTERRUPTS, &text);
	unsigned int *columns;
	char *rest, *line;
	size_t count;

	*sources = (struct sources){ 0 };
	rest = text.s;
	line = strsep(&rest, "\n");
	columns = parse_heading(line, &count);
	while ((line = strsep(&rest, "\n"))) {
		char *name = strsep(&line, ":");

		if (!line)
			continue;
		name += strspn(name, " ");
		*append(sources->items, sources->count) = (struct source){
			copy(name), sum_line(line, columns, count, cpus),
		};
	}
	free(columns);
	return ret;
}

static unsigned long long count_before(const struct sources *before, const char *name)
{
	for (size_t i = 0; i < before->count; i++)
		if (!strcmp(before->items[i].name, name))
			return before->items[i].count;
	return 0;
}

static char *name_sources(const struct sources *before, const struct sources *after,
			  unsigned long long *total)
{
	struct text text = { 0 };
	unsigned int shown = 0;

	text_add(&text, "%s", "");
	*total = 0;
	for (size_t i = 0; i < after->count; i++) {
		const struct source *source = &after->items[i];
		unsigned long long more = source->count - count_before(before, source->name);

		*total += more;
		if (more && shown++ < SOURCES_SHOWN) {
			make_printable(source->name);
			text_add(&text, "%s%s %llu", text.length ? ", " : "", source->name, more);
		}
	}
	if (shown > SOURCES_SHOWN)
		text_add(&text, " and others");
	return text.s;
}

static void add_interrupts(struct inspection *inspection, const struct sources *before,
			   const struct sources *after)
{
	const struct cpus *cpus = &inspection->isolation.irqs;
	unsigned long long total;
	autofree char *names = name_sources(before, after, &total), *named = cpus_named(cpus);

	if (total)
		finding_add(&inspection->findings, FINDING_NOTE, "interrupts",
			    "find them in /proc/interrupts",
			    "%s took %llu interrupt%s within the last 0.1 s (%s).", named, total,
			    total == 1 ? "" : "s", names);
	else
		finding_add(&inspection->findings, FINDING_GOOD, "interrupts", "",
			    "%s took no interrupt within the last 0.1 s.", named);
}

/* Times since boot, of all CPUs. */
struct times {
	unsigned long long all, stolen;
};

/* cpu USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL ... */
static int read_times(struct times *times)
{
	unsigned long long t[8] = { 0 };
	autotext struct text text = { 0 };
	int ret = file_read("/proc/stat", &text);

	*times = (struct times){ 0 };
	if (!ret && sscanf(text.s, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1],
			   &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) != 8)
		ret = -EBADMSG;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		times->all += t[i];
	times->stolen = t[7];
	return ret;
}

static void add_virtual(struct inspection *inspection, const struct times *before)
{
	struct times now;
	int ret = read_times(&now);
	unsigned long long share = now.all ? now.stolen * 1000000 / now.all : 0;
	bool bad = now.stolen > before->stolen || share >= STEAL_BAD;
	autofree char *stolen = ret ?
		format("how much it takes is unknown: /proc/stat: %s", strerror(-ret)) :
		format("it has taken %llu.%02llu %% of their time since boot%s", share / 10000,
		       share / 100 % 100,
		       now.stolen > before->stolen ? ", and some within the last 0.1 s" : "");

	finding_add(&inspection->findings, bad ? FINDING_BAD : FINDING_WARNING, "virtual",
		    "on its host: timershield isolate CPULIST; timershield run -c CPULIST -P the machine's process",
		    "This is a virtual machine: its host may stop any of its CPUs at any time; %s.",
		    stolen);
}

static void add_firmware(struct inspection *inspection, int error, unsigned long long before)
{
	const unsigned int cpu = cpus_next(&inspection->watched, 0);
	unsigned long long now = 0;

	if (!error)
		error = unseen_smis(cpu, &now);
	if (error == -ENOENT || error == -ENXIO)
		finding_add(&inspection->findings, FINDING_UNKNOWN, "smi", "modprobe msr",
			    "How often the firmware stops the CPUs (SMI) is unknown: /dev/cpu/%u/msr does not exist.",
			    cpu);
	else if (error)
		finding_unknown(&inspection->findings, "smi",
				"How often the firmware stops the CPUs (SMI)", "/dev/cpu/*/msr",
				error);
	else if (now != before)
		finding_add(&inspection->findings, FINDING_BAD, "smi",
			    "in the firmware's setup, switch off what needs SMIs: legacy USB, power and error reports",
			    "The firmware stopped CPU %u %llu times (SMI) within the last 0.1 s.",
			    cpu, now - before);
	else
		finding_add(&inspection->findings, FINDING_GOOD, "smi", "",
			    "The firmware has stopped CPU %u %llu times (SMI) since boot, not within the last 0.1 s.",
			    cpu, now);
}

void check_activity(struct inspection *inspection)
{
	const struct timespec pause = { .tv_nsec = SAMPLE_NS };
	const struct cpus *cpus = &inspection->isolation.irqs;
	const bool is_virtual = machine_is_virtual();
	unsigned long long firmware = 0;
	struct sources before, after;
	struct times times;
	int error = unseen_smis(cpus_next(&inspection->watched, 0), &firmware);
	int ret = read_sources(&before, cpus);

	read_times(&times);
	nanosleep(&pause, NULL);
	read_sources(&after, cpus);
	if (is_virtual)
		add_virtual(inspection, &times);
	if (!cpus_empty(cpus) && !ret)
		add_interrupts(inspection, &before, &after);
	else if (!cpus_empty(cpus))
		finding_unknown(&inspection->findings, "interrupts",
				"What interrupts isolated CPUs", INTERRUPTS, ret);
	if (error != -EOPNOTSUPP)
		add_firmware(inspection, error, firmware);
	free_sources(&before);
	free_sources(&after);
}
