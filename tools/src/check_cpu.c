// SPDX-License-Identifier: GPL-2.0-or-later
/* Status: what the CPUs do. */
#include "file.h"
#include "finding.h"
#include "task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPU_DIRECTORY "/sys/devices/system/cpu"
#define LATENCY_FINE 10			/* us */
#define LATENCY_BAD 50

/* The most that somebody lets waking take, by holding this file open; us. */
static long long latency_limit(void)
{
	struct text text = { 0 };
	int limit = INT_MAX;

	if (!file_read("/dev/cpu_dma_latency", &text) && text.length >= sizeof(limit))
		memcpy(&limit, text.s, sizeof(limit));
	text_free(&text);
	return limit;
}

struct idle {
	long long limit, worst;
	unsigned int cpu;
	struct cpus cpus, states;	/* with states that are too deep; which ones */
	char name[32];			/* of the worst state */
	bool any;
};

static int read_state_number(unsigned int cpu, unsigned int state, const char *file,
			     long long *number)
{
	char *path = format(CPU_DIRECTORY "/cpu%u/cpuidle/state%u/%s", cpu, state, file);
	int ret = file_read_number(path, number);

	free(path);
	return ret;
}

static void note_worst(struct idle *idle, unsigned int state, long long latency)
{
	char *path = format(CPU_DIRECTORY "/cpu%u/cpuidle/state%u/name", idle->cpu, state);
	struct text name = { 0 };

	file_read_line(path, &name);
	make_printable(name.s);
	snprintf(idle->name, sizeof(idle->name), "%s", name.s);
	idle->worst = latency;
	text_free(&name);
	free(path);
}

static int look_at_state(const char *name, void *argument)
{
	struct idle *idle = argument;
	long long latency, disabled;
	unsigned int state;

	if (sscanf(name, "state%u", &state) != 1 || state >= CPUS_MAX ||
	    read_state_number(idle->cpu, state, "latency", &latency))
		return 0;
	idle->any = true;
	if (read_state_number(idle->cpu, state, "disable", &disabled))
		disabled = 0;
	if (disabled || latency <= LATENCY_FINE || latency > idle->limit)
		return 0;
	cpus_add(&idle->cpus, idle->cpu);
	cpus_add(&idle->states, state);
	if (latency > idle->worst)
		note_worst(idle, state, latency);
	return 0;
}

void check_idle_states(struct inspection *inspection)
{
	struct idle idle = { .limit = latency_limit() };
	const struct cpus none = { 0 };
	char *cpus, *states, *list, *mend;

	cpus_for_each(cpu, &inspection->watched) {
		char *path = format(CPU_DIRECTORY "/cpu%u/cpuidle", cpu);

		idle.cpu = cpu;
		file_for_each(path, look_at_state, &idle);
		free(path);
	}
	if (!idle.any)
		return;
	if (cpus_empty(&idle.cpus)) {
		/* Of a virtual machine's idle CPUs, its host decides. */
		if (!machine_is_virtual())
			finding_add(&inspection->findings, FINDING_GOOD, "cstates", "",
				    "Idle CPUs wake within %d us.", LATENCY_FINE);
		return;
	}
	cpus = cpus_pattern(&idle.cpus, &inspection->shield.machine.online);
	states = cpus_pattern(&idle.states, &none);
	list = cpus_named(&idle.cpus);
	mend = format("echo 1 | tee " CPU_DIRECTORY "/cpu%s/cpuidle/state%s/disable", cpus,
		      states);
	finding_add(&inspection->findings,
		    idle.worst > LATENCY_BAD ? FINDING_BAD : FINDING_WARNING, "cstates",
		    mend,
		    "Idle, %s may sleep so deeply that it takes %lld us to wake (%s).",
		    list, idle.worst, idle.name);
	free(mend);
	free(list);
	free(states);
	free(cpus);
}

void check_governor(struct inspection *inspection)
{
	struct cpus slow = { 0 };
	char *names = NULL, *list, *all, *mend;
	bool any = false;

	cpus_for_each(cpu, &inspection->watched) {
		char *path = format(CPU_DIRECTORY "/cpu%u/cpufreq/scaling_governor", cpu);
		struct text governor = { 0 };

		if (!file_read_line(path, &governor)) {
			any = true;
			if (strcmp(governor.s, "performance")) {
				cpus_add(&slow, cpu);
				free(names);
				make_printable(governor.s);
				names = copy(governor.s);
			}
		}
		text_free(&governor);
		free(path);
	}
	if (!any)
		return;
	if (cpus_empty(&slow)) {
		finding_add(&inspection->findings, FINDING_GOOD, "governor", "",
			    "The CPUs' clock rate is kept high.");
		return;
	}
	list = cpus_named(&slow);
	all = cpus_pattern(&slow, &inspection->shield.machine.online);
	mend = format("echo performance | tee " CPU_DIRECTORY "/cpu%s/cpufreq/scaling_governor",
		      all);
	finding_add(&inspection->findings, FINDING_WARNING, "governor",
		    mend,
		    "The clock rate of %s follows its load (governor %s): the same work takes longer after a pause.",
		    list, names);
	free(mend);
	free(all);
	free(list);
	free(names);
}

static int read_cpus(const char *path, struct cpus *cpus)
{
	struct text text = { 0 };
	int ret = file_read_line(path, &text);

	if (!ret)
		ret = cpus_parse(cpus, text.s, text.length);
	text_free(&text);
	return ret;
}

/* One CPU must be left to the rest of the system. */
static char *sibling_mend(const struct inspection *inspection, const struct cpus *siblings,
			  const char *list)
{
	struct cpus rest = cpus_and_not(&inspection->shield.machine.online,
					&inspection->shield.procs);

	return cpus_subset(&rest, siblings) ?
	       copy("timershield unshield: there is no other core for the rest") :
	       format("timershield shield %s", list);
}

/* Two threads of a core take each other's execution units and caches. */
void check_siblings(struct inspection *inspection)
{
	const struct cpus *shielded = &inspection->shield.procs;
	struct cpus disturbing = { 0 }, siblings, outside;
	char *list, *named, *mend;
	bool many;

	cpus_for_each(cpu, shielded) {
		char *path = format(CPU_DIRECTORY "/cpu%u/topology/thread_siblings_list", cpu);

		if (!read_cpus(path, &siblings)) {
			outside = cpus_and_not(&siblings, shielded);
			disturbing = cpus_or(&disturbing, &outside);
		}
		free(path);
	}
	if (cpus_empty(&disturbing))
		return;
	many = cpus_count(&disturbing) > 1;
	list = cpus_list(&disturbing);
	named = cpus_named(&disturbing);
	mend = sibling_mend(inspection, &disturbing, list);
	finding_add(&inspection->findings, FINDING_BAD, "siblings",
		    mend,
		    "%s share%s a core with a shielded CPU and %s not shielded: what runs there slows that down.",
		    named, many ? "" : "s", many ? "are" : "is");
	free(mend);
	free(named);
	free(list);
}

void check_tick(struct inspection *inspection)
{
	const struct cpus *shielded = &inspection->shield.procs;
	struct cpus without = { 0 }, ticking;
	char *list, *named, *mend;

	if (cpus_empty(shielded))
		return;
	/* "(null)" where there is none. */
	if (read_cpus(CPU_DIRECTORY "/nohz_full", &without))
		without = (struct cpus){ 0 };
	ticking = cpus_and_not(shielded, &without);
	if (cpus_empty(&ticking))
		return;
	list = cpus_list(&ticking);
	named = cpus_named(&ticking);
	mend = format("boot with nohz_full=%s rcu_nocbs=%s (CONFIG_NO_HZ_FULL)", list, list);
	finding_add(&inspection->findings, FINDING_NOTE, "tick",
		    mend,
		    "The scheduler's tick interrupts tasks on %s.", named);
	free(mend);
	free(named);
	free(list);
}

static int is_irqbalance(const struct task *task, void *argument)
{
	(void)argument;
	return !strcmp(task->name, "irqbalance");
}

void check_irqbalance(struct inspection *inspection)
{
	const struct shield *shield = &inspection->shield;

	if (task_for_each(is_irqbalance, NULL) != 1)
		return;
	if (shield->backend == BACKEND_PROC && !cpus_empty(&shield->irqs))
		finding_add(&inspection->findings, FINDING_GOOD, "irqbalance", "",
			    "irqbalance runs; the kernel keeps what it moves off shielded CPUs.");
	else
		finding_add(&inspection->findings, FINDING_WARNING, "irqbalance",
			    "systemctl disable --now irqbalance",
			    "irqbalance runs: it may direct interrupts to any CPU at any time.");
}
