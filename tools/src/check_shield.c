// SPDX-License-Identifier: GPL-2.0-or-later
/* Status: which CPUs are shielded, and what still runs or interrupts there. */
#include "cgroup.h"
#include "file.h"
#include "finding.h"
#include "summary.h"
#include "task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SAMPLE_NS 100000000
#define SOURCES_SHOWN 4

void check_journal(struct inspection *inspection)
{
	const struct shield *shield = &inspection->shield;

	if (shield->damaged)
		finding_add(&inspection->findings, FINDING_BAD, "journal",
			    "timershield unshield --salvage",
			    "The journal of what was changed, %s, is damaged.", JOURNAL_FILE);
	else if (shield->journal.changing)
		finding_add(&inspection->findings, FINDING_BAD, "journal",
			    "timershield unshield, then shield again",
			    "A shield or unshield was interrupted half-way, or is under way.");
}

static void check_none(struct inspection *inspection)
{
	const struct shield *shield = &inspection->shield;
	unsigned int last = 0;
	char *mend;

	if (cpus_count(&shield->machine.online) < 2)
		return;
	if (shield->backend == BACKEND_NONE) {
		mend = format("%s, or boot a kernel with CONFIG_CPU_SHIELD", cgroup_mend());
		finding_add(&inspection->findings, FINDING_WARNING, "shield", mend,
			    "CPUs cannot be shielded here: there is neither /proc/shield nor a cpuset controller in cgroup v2.");
		free(mend);
		return;
	}
	cpus_for_each(cpu, &shield->machine.online)
		last = cpu;
	mend = format("timershield shield %u", last);
	finding_add(&inspection->findings, FINDING_WARNING, "shield", mend,
		    "No CPU is shielded: any task and interrupt may run beside the task that matters.");
	free(mend);
}

static void add_number(struct text *text, unsigned int number, const char *what)
{
	if (number)
		text_add(text, "%s %u %s%s", text->length ? " and" : "", number, what,
			 number == 1 ? "" : "s");
}

static char *unmoved_sentence(const struct unmoved_list *unmoved)
{
	struct text text = { 0 };
	unsigned int irqs = 0;

	for (size_t i = 0; i < unmoved->count; i++)
		irqs += !strcmp(unmoved->items[i].kind, "irq");
	add_number(&text, (unsigned int)unmoved->count - irqs, "task");
	add_number(&text, irqs, "interrupt");
	text_add(&text, " still %s there (below).",
		 unmoved->count == 1 ? "has its place" : "have their place");
	return text.s;
}

void check_shielded(struct inspection *inspection)
{
	const struct shield *shield = &inspection->shield;
	char *sentence, *still;

	if (cpus_empty(&shield->procs) && cpus_empty(&shield->irqs)) {
		check_none(inspection);
		return;
	}
	sentence = summary_sentence(&shield->procs, &shield->irqs);
	still = inspection->unmoved.count ? unmoved_sentence(&inspection->unmoved) : copy("");
	finding_add(&inspection->findings, FINDING_GOOD, "shield", "", "%s (%s backend).%s",
		    sentence, backend_name(shield->backend), still);
	free(still);
	free(sentence);
}

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
		if (!strncmp(word, "CPU", 3)) {
			columns = grow(columns, *count + 1, sizeof(*columns));
			columns[(*count)++] = (unsigned int)strtoul(word + 3, NULL, 10);
		}
	return columns;
}

static void read_sources(struct sources *sources, const struct cpus *cpus)
{
	struct text text = { 0 };
	unsigned int *columns;
	char *rest, *line;
	size_t count;

	*sources = (struct sources){ 0 };
	file_read("/proc/interrupts", &text);
	rest = text.s;
	line = strsep(&rest, "\n");
	columns = parse_heading(line, &count);
	while ((line = strsep(&rest, "\n"))) {
		char *name = strsep(&line, ":");

		if (!line)
			continue;
		name += strspn(name, " ");
		sources->items = grow(sources->items, sources->count + 1, sizeof(*sources->items));
		sources->items[sources->count++] = (struct source){
			copy(name), sum_line(line, columns, count, cpus),
		};
	}
	free(columns);
	text_free(&text);
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

void check_interrupts(struct inspection *inspection)
{
	const struct timespec pause = { .tv_nsec = SAMPLE_NS };
	const struct cpus *cpus = &inspection->shield.irqs;
	struct sources before, after;
	unsigned long long total;
	char *names, *list;

	if (cpus_empty(cpus))
		return;
	read_sources(&before, cpus);
	nanosleep(&pause, NULL);
	read_sources(&after, cpus);
	names = name_sources(&before, &after, &total);
	list = cpus_named(cpus);
	if (total)
		finding_add(&inspection->findings, FINDING_NOTE, "interrupts",
			    "/proc/interrupts tells what they are",
			    "%s took %llu interrupt%s within 0.1 s just now (%s).", list, total,
			    total == 1 ? "" : "s", names);
	else
		finding_add(&inspection->findings, FINDING_GOOD, "interrupts", "",
			    "%s took no interrupt within 0.1 s just now.", list);
	free(list);
	free(names);
	free_sources(&before);
	free_sources(&after);
}
