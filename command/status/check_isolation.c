// SPDX-License-Identifier: GPL-2.0-or-later
/* Status: which CPUs are isolated, and what still runs or interrupts there. */
#include "finding.h"
#include "isolate/leftovers.h"
#include "isolate/isolation.h"
#include "lib/cgroup.h"
#include "lib/file.h"

void check_journal(struct inspection *inspection)
{
	const struct isolation *isolation = &inspection->isolation;

	if (isolation->damaged || isolation->lost)
		finding_add(&inspection->findings, FINDING_BAD, "journal",
			    isolation_mend,
			    "The journal of what was changed, %s, %s.", JOURNAL_FILE,
			    isolation->lost ? "is missing, but the partition exists" : "is damaged");
	else if (isolation->journal.changing)
		finding_add(&inspection->findings, FINDING_BAD, "journal",
			    "timershield unisolate, then isolate again",
			    "An isolate or unisolate was interrupted half-way, or is under way.");
}

static void add_none(struct inspection *inspection)
{
	const struct isolation *isolation = &inspection->isolation;
	struct cpus free_ones = isolation->machine.online;
	unsigned int last = 0;
	autofree char *mend = NULL;

	if (cpus_count(&free_ones) < 2) {
		finding_add(&inspection->findings, FINDING_NOTE, "isolation", "",
			    "This machine has one CPU: everything shares it with your real-time task.");
		return;
	}
	for (size_t i = 0; i < isolation->rivals.count; i++)
		free_ones = cpus_and_not(&free_ones, &isolation->rivals.items[i].cpus);
	cpus_for_each(cpu, &free_ones)
		last = cpu;
	if (!isolation->mount) {
		mend = format("%s; or, less strictly, timershield isolate %u --by-affinity",
			      cgroup_mend(), last);
		finding_add(&inspection->findings, FINDING_WARNING, "isolation", mend,
			    "CPUs cannot be isolated from tasks here: %s.", isolation->why);
		return;
	}
	mend = cpus_empty(&free_ones) ? copy("take a CPU out of the cpuset.cpus of other cgroups") :
	       format("timershield isolate %u, then timershield run -- COMMAND; so do benchmarks (hyperfine, Bencher) give steady figures",
		      last);
	finding_add(&inspection->findings, FINDING_WARNING, "isolation", mend,
		    "No CPU is isolated: any task or interrupt may run on your real-time task's CPU.");
}

/* What was asked for and is not so, though the CPUs are online. */
static void add_broken(struct inspection *inspection, const struct cpus *broken)
{
	const struct isolation *isolation = &inspection->isolation;
	const struct partition *partition = &isolation->partition;
	autofree char *named = cpus_named(broken), *are = cpus_are(broken);
	autofree char *list = cpus_list(broken);
	autofree char *rivals = rivals_named(&isolation->rivals, broken);
	autofree char *mend = *rivals ?
		format("take %s out of %s, then timershield isolate %s", named, rivals, list) :
		format("timershield isolate %s", list);

	finding_add(&inspection->findings, FINDING_BAD, "isolation", mend,
		    "%s not isolated any more: %s%s. Any task may run there.", are,
		    partition->state ? "the kernel calls the partition " :
		    "the cgroup timershield has been removed", partition->state ? partition->state : "");
}

/* Interrupts that come new get the default mask. */
static void add_default_mask(struct inspection *inspection)
{
	const struct isolation *isolation = &inspection->isolation;
	struct cpus exposed = settings_exposed(&isolation->irqs);
	autofree char *named = cpus_named(&exposed), *mend = NULL;

	if (!cpus_empty(&exposed)) {
		mend = format("timershield isolate --irqs %s", strchr(named, ' ') + 1);
		finding_add(&inspection->findings, FINDING_WARNING, "default_mask", mend,
			    "New interrupts may go to %s: something else has written /proc/irq/default_smp_affinity.",
			    named);
	}
}

/* Isolated from tasks, but not from interrupts. */
static void add_interrupts(struct inspection *inspection)
{
	const struct isolation *isolation = &inspection->isolation;
	struct cpus open = cpus_and_not(&isolation->isolated, &isolation->irqs);
	autofree char *list = cpus_list(&open), *named = cpus_named(&open);
	autofree char *mend = format("timershield isolate --irqs %s", list);
	int count = settings_count_irqs(&open);

	if (count < 0)
		finding_unknown(&inspection->findings, "irqs", "Which CPUs interrupts go to",
				"/proc/irq", count);
	else if (count)
		finding_add(&inspection->findings, FINDING_WARNING, "irqs", mend,
			    "%d interrupt%s may go to %s (/proc/irq/*/smp_affinity_list).", count,
			    count == 1 ? "" : "s", named);
}

static void add_number(struct text *text, unsigned int number, const char *what)
{
	if (number)
		text_add(text, "%s %u %s%s", text->length ? " and" : "", number, what,
			 number == 1 ? "" : "s");
}

static unsigned int count_kind(const struct leftovers *unmoved, const char *kind)
{
	unsigned int count = 0;

	for (size_t i = 0; i < unmoved->count; i++)
		count += !strcmp(unmoved->items[i].kind, kind);
	return count;
}

static char *unmoved_sentence(const struct leftovers *unmoved)
{
	struct text text = { 0 };

	add_number(&text, count_kind(unmoved, "task"), "task");
	add_number(&text, count_kind(unmoved, "irq"), "interrupt");
	add_number(&text, count_kind(unmoved, "queue"), "receive queue");
	text_add(&text, " still %s there (below).",
		 unmoved->count == 1 ? "has its place" : "have their place");
	return text.s;
}

void check_isolation(struct inspection *inspection)
{
	const struct isolation *isolation = &inspection->isolation;
	struct cpus wanted = cpus_or(&isolation->procs, &isolation->irqs);
	struct cpus offline = cpus_and_not(&wanted, &isolation->machine.online);
	struct cpus broken = cpus_and_not(&isolation->procs, &isolation->isolated), none = { 0 };
	autofree char *offline_are = cpus_are(&offline), *pattern = cpus_pattern(&offline, &none);
	autofree char *mend = format("echo 1 | tee " CPU_DIRECTORY "/cpu%s/online", pattern);
	autofree char *procs_are = cpus_are(&isolation->procs);
	autofree char *booted_are = cpus_are(&isolation->booted);
	autofree char *sentence = isolate_sentence(&isolation->isolated, &isolation->irqs);
	autofree char *still = inspection->unmoved.count ? unmoved_sentence(&inspection->unmoved) :
			       copy("");

	broken = cpus_and_not(&broken, &offline);
	if (!cpus_empty(&broken))
		add_broken(inspection, &broken);
	if (!cpus_empty(&offline))
		finding_add(&inspection->findings, FINDING_BAD, "offline", mend,
			    "%s isolated, but offline: nothing can run there.", offline_are);
	if (!cpus_empty(&isolation->irqs) || !cpus_empty(&isolation->isolated))
		finding_add(&inspection->findings, FINDING_GOOD, "isolation", "", "%s.%s", sentence,
			    still);
	else if (cpus_empty(&wanted))
		add_none(inspection);
	if (isolation->journal.by_affinity && !cpus_empty(&isolation->procs))
		finding_add(&inspection->findings, FINDING_NOTE, "by_affinity",
			    "timershield unisolate, then isolate without --by-affinity, to keep others off",
			    "%s isolated by the affinities of tasks: any task may go there by sched_setaffinity().",
			    procs_are);
	if (!cpus_empty(&isolation->booted))
		finding_add(&inspection->findings, FINDING_NOTE, "isolcpus",
			    "timershield run keeps to these CPUs; boot without isolcpus= and use timershield isolate to keep others off",
			    "%s isolated since boot (isolcpus=): no task is put there, but any may go there by sched_setaffinity().",
			    booted_are);
	add_interrupts(inspection);
	add_default_mask(inspection);
}
