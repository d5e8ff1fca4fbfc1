// SPDX-License-Identifier: GPL-2.0-or-later
/* Status: what interrupts the CPUs now. Counters are read twice, 0.1 s apart. */
#include "finding.h"
#include "lib/file.h"
#include "lib/unseen.h"

#include <time.h>

#define SAMPLE_NS 100000000
#define SOURCES_SHOWN 4
#define STEAL_BAD 1000			/* of a million */
#define INTERRUPTS "/proc/interrupts"

/* Adds up the counters of these CPUs at LINE; HEADING names the CPUs. */
static unsigned long long sum_line(const char *heading, const char *line, const struct cpus *cpus)
{
	unsigned long long sum = 0;
	char *end;

	for (;; line = end) {
		unsigned long long value = strtoull(line, &end, 10);
		unsigned int cpu;

		heading += strspn(heading, " ");
		if (end == line || strncmp(heading, "CPU", 3))
			return sum;
		cpu = (unsigned int)strtoul(heading + 3, (char **)&heading, 10);
		if (cpus_has(cpus, cpu))
			sum += value;
	}
}

/* Which sources interrupted these CPUs between two readings, and how often in all. */
static char *name_sources(const char *before, const char *after, const struct cpus *cpus,
			  unsigned long long *total)
{
	struct text text = { 0 };
	unsigned int shown = 0;

	text_add(&text, "%s", "");
	*total = 0;
	for (const char *line = strchr(after, '\n'); line; line = strchr(line, '\n')) {
		const char *start = line + strspn(line, "\n ");
		autofree char *name = format("%.*s", (int)strcspn(start, ":\n"), start);
		unsigned long long more = sum_line(after, unseen_counters(line, name), cpus) -
					  sum_line(before, unseen_counters(before, name), cpus);

		line = start;
		*total += more;
		if (more && shown++ < SOURCES_SHOWN) {
			make_printable(name);
			text_add(&text, "%s%s %llu", text.length ? ", " : "", name, more);
		}
	}
	if (shown > SOURCES_SHOWN)
		text_add(&text, " and others");
	return text.s;
}

static void add_interrupts(struct inspection *inspection, const char *before, const char *after)
{
	const struct cpus *cpus = &inspection->isolation.irqs;
	unsigned long long total;
	autofree char *names = name_sources(before, after, cpus, &total), *named = cpus_named(cpus);

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
	autotext struct text before = { 0 }, after = { 0 };
	unsigned long long firmware = 0;
	struct times times;
	int error = unseen_smis(cpus_next(&inspection->watched, 0), &firmware);
	int ret = file_read(INTERRUPTS, &before);

	read_times(&times);
	nanosleep(&pause, NULL);
	file_read(INTERRUPTS, &after);
	if (is_virtual)
		add_virtual(inspection, &times);
	if (!cpus_empty(cpus) && !ret)
		add_interrupts(inspection, before.s, after.s);
	else if (!cpus_empty(cpus))
		finding_unknown(&inspection->findings, "interrupts",
				"What interrupts isolated CPUs", INTERRUPTS, ret);
	if (error != -EOPNOTSUPP)
		add_firmware(inspection, error, firmware);
}
