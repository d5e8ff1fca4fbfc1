// SPDX-License-Identifier: GPL-2.0-or-later
/* Status: what the CPUs do. */
#include "finding.h"
#include "lib/file.h"

#define LATENCY_FINE 10			/* us */
#define LATENCY_BAD 50

struct idle {
	int limit;			/* the most that somebody lets waking take; us */
	long long worst;
	unsigned int cpu;
	struct cpus cpus, states;	/* with states that are too deep; which ones */
	char name[32];			/* of the worst state */
	bool any;
};

static int read_state_number(unsigned int cpu, unsigned int state, const char *file,
			     long long *number)
{
	autofree char *path = format(CPU_DIRECTORY "/cpu%u/cpuidle/state%u/%s", cpu, state, file);

	return file_read_number(path, number);
}

static void note_worst(struct idle *idle, unsigned int state, long long latency)
{
	autofree char *path = format(CPU_DIRECTORY "/cpu%u/cpuidle/state%u/name", idle->cpu, state);
	autotext struct text name = { 0 };

	file_read_line(path, &name);
	make_printable(name.s);
	snprintf(idle->name, sizeof(idle->name), "%s", name.s);
	idle->worst = latency;
}

static void look_at_state(struct idle *idle, const char *name)
{
	long long latency, disabled;
	unsigned int state;

	if (sscanf(name, "state%u", &state) != 1 || state >= CPUS_MAX ||
	    read_state_number(idle->cpu, state, "latency", &latency))
		return;
	idle->any = true;
	if (read_state_number(idle->cpu, state, "disable", &disabled))
		disabled = 0;
	if (disabled || latency <= LATENCY_FINE || latency > idle->limit)
		return;
	cpus_add(&idle->cpus, idle->cpu);
	cpus_add(&idle->states, state);
	if (latency > idle->worst)
		note_worst(idle, state, latency);
}

/* Of a virtual machine's idle CPUs, its host decides. */
static void add_awake(struct findings *findings, bool any)
{
	if (machine_is_virtual())
		finding_add(findings, FINDING_UNKNOWN, "cstates", "",
			    "How fast idle CPUs wake is unknown: the machine's host decides.");
	else if (any || file_has("/proc/cmdline", "idle=poll"))
		finding_add(findings, FINDING_GOOD, "cstates", "",
			    "Idle CPUs wake within %d us.", LATENCY_FINE);
	else
		finding_add(findings, FINDING_UNKNOWN, "cstates", "",
			    "How fast idle CPUs wake is unknown: the kernel has no cpuidle driver here.");
}

void check_idle_states(struct inspection *inspection)
{
	autotext struct text limit = { 0 };
	struct idle idle = { .limit = INT_MAX };
	const struct cpus none = { 0 };
	autofree char *cpus = NULL, *states = NULL, *list = NULL, *mend = NULL;

	if (!file_read("/dev/cpu_dma_latency", &limit) && limit.length >= sizeof(idle.limit))
		memcpy(&idle.limit, limit.s, sizeof(idle.limit));
	cpus_for_each(cpu, &inspection->watched) {
		autofree char *path = format(CPU_DIRECTORY "/cpu%u/cpuidle", cpu);
		autonames struct names states_of_cpu = { 0 };

		idle.cpu = cpu;
		file_names(path, &states_of_cpu);
		for (size_t i = 0; i < states_of_cpu.count; i++)
			look_at_state(&idle, states_of_cpu.items[i]);
	}
	if (cpus_empty(&idle.cpus)) {
		add_awake(&inspection->findings, idle.any);
		return;
	}
	cpus = cpus_pattern(&idle.cpus, &inspection->isolation.machine.online);
	states = cpus_pattern(&idle.states, &none);
	list = cpus_named(&idle.cpus);
	mend = format("echo 1 | tee " CPU_DIRECTORY "/cpu%s/cpuidle/state%s/disable", cpus,
		      states);
	finding_add(&inspection->findings,
		    idle.worst > LATENCY_BAD ? FINDING_BAD : FINDING_WARNING, "cstates",
		    mend,
		    "Idle, %s may sleep so deeply that it takes %lld us to wake (%s).",
		    list, idle.worst, idle.name);
}

void check_governor(struct inspection *inspection)
{
	struct cpus slow = { 0 };
	autofree char *names = NULL, *list = NULL, *all = NULL, *mend = NULL;
	bool any = false;

	cpus_for_each(cpu, &inspection->watched) {
		autofree char *path = format(CPU_DIRECTORY "/cpu%u/cpufreq/scaling_governor", cpu);
		autotext struct text governor = { 0 };

		if (!file_read_line(path, &governor)) {
			any = true;
			if (strcmp(governor.s, "performance")) {
				cpus_add(&slow, cpu);
				free(names);
				make_printable(governor.s);
				names = copy(governor.s);
			}
		}
	}
	if (!any) {
		finding_add(&inspection->findings, FINDING_UNKNOWN, "governor", "",
			    "CPU frequency scaling: unknown (no cpufreq driver).");
		return;
	}
	if (cpus_empty(&slow)) {
		finding_add(&inspection->findings, FINDING_GOOD, "governor", "",
			    "The CPUs' clock rate is kept high.");
		return;
	}
	list = cpus_named(&slow);
	all = cpus_pattern(&slow, &inspection->isolation.machine.online);
	mend = format("echo performance | tee " CPU_DIRECTORY "/cpu%s/cpufreq/scaling_governor",
		      all);
	finding_add(&inspection->findings, FINDING_WARNING, "governor",
		    mend,
		    "The clock rate of %s follows its load (governor %s): the same work takes longer after a pause.",
		    list, names);
}

/* With no CPU isolated, the last one stands for all. */
static void add_threads(struct inspection *inspection)
{
	struct cpus siblings = { 0 };
	unsigned int last = 0;
	autofree char *path = NULL, *list = NULL, *mend = NULL;
	int ret;

	cpus_for_each(cpu, &inspection->isolation.machine.online)
		last = cpu;
	path = format(CPU_SIBLINGS, last);
	ret = file_read_cpus(path, &siblings);
	if (ret) {
		finding_unknown(&inspection->findings, "siblings", "Whether CPUs share cores",
				path, ret);
	} else if (cpus_count(&siblings) > 1) {
		list = cpus_list(&siblings);
		mend = format("isolate all CPUs of a core, such as timershield isolate %s; or echo off >" CPU_DIRECTORY "/smt/control",
			      list);
		finding_add(&inspection->findings, FINDING_WARNING, "siblings", mend,
			    "%u CPUs share each core (SMT): what runs on one slows the others down.",
			    cpus_count(&siblings));
	}
}

/* Two threads of a core take each other's execution units and caches. */
void check_siblings(struct inspection *inspection)
{
	const struct cpus *isolated = &inspection->isolation.isolated;
	struct cpus disturbing, rest;
	autofree char *list = NULL, *named = NULL, *mend = NULL;
	bool many;

	if (cpus_empty(isolated)) {
		add_threads(inspection);
		return;
	}
	disturbing = machine_siblings(isolated);
	if (cpus_empty(&disturbing))
		return;
	many = cpus_count(&disturbing) > 1;
	list = cpus_list(&disturbing);
	named = cpus_named(&disturbing);
	/* One CPU must be left to the rest of the system. */
	rest = cpus_and_not(&inspection->isolation.machine.online, isolated);
	mend = cpus_subset(&rest, &disturbing) ?
	       copy("timershield unisolate: the rest of the system needs a core of its own") :
	       format("timershield isolate %s", list);
	finding_add(&inspection->findings, FINDING_BAD, "siblings",
		    mend,
		    "%s share%s a core with an isolated CPU and %s not isolated: tasks there slow it down.",
		    named, many ? "" : "s", many ? "are" : "is");
}

void check_irqbalance(struct inspection *inspection)
{
	tasks_for_each(task, &inspection->tasks)
		if (!strcmp(task->name, "irqbalance")) {
			finding_add(&inspection->findings, FINDING_WARNING, "irqbalance",
				    "systemctl disable --now irqbalance",
				    "irqbalance runs: it may direct interrupts to any CPU at any time.");
			return;
		}
}
