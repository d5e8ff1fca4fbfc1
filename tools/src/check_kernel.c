// SPDX-License-Identifier: GPL-2.0-or-later
/* Status: what the kernel is and does. */
#include "file.h"
#include "finding.h"
#include "timers.h"
#include "util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/"
#define DEBUGFS "/sys/kernel/debug"
#define PREEMPT_FILE DEBUGFS "/sched/preempt"
#define FAIR_SERVER DEBUGFS "/sched/fair_server"
#define SLACK_FINE 1000			/* ns */

/* What shows files of debugfs that are not to be seen. */
static const char *debugfs_mend(void)
{
	return geteuid() ? "run timershield as root" : "mount -t debugfs none " DEBUGFS;
}

struct preemption {
	const char *name;		/* as in preempt= and in debugfs */
	enum severity severity;
	const char *text;
};

static const struct preemption models[] = {
	{ "full", FINDING_GOOD,
	  "The kernel is preemptible. PREEMPT_RT is so in interrupt handlers, too." },
	{ "lazy", FINDING_GOOD,
	  "The kernel is preemptible, by real-time tasks at once (lazy preemption)." },
	{ "voluntary", FINDING_BAD,
	  "The kernel gives way to real-time tasks only here and there (voluntary preemption)." },
	{ "none", FINDING_BAD,
	  "The kernel is not preemptible: system calls may delay real-time tasks for milliseconds." },
};

static const struct preemption *chosen_model(bool *by_debugfs)
{
	*by_debugfs = file_exists(PREEMPT_FILE);
	for (size_t i = 0; i < ARRAY_SIZE(models); i++) {
		char *word = format(*by_debugfs ? "(%s)" : "preempt=%s", models[i].name);
		bool chosen = file_has(*by_debugfs ? PREEMPT_FILE : "/proc/cmdline", word);

		free(word);
		if (chosen)
			return &models[i];
	}
	return NULL;
}

/* With PREEMPT_DYNAMIC it is chosen at boot, and may be changed. */
static void check_dynamic_preemption(struct findings *findings)
{
	bool by_debugfs;
	const struct preemption *model = chosen_model(&by_debugfs);

	if (model)
		finding_add(findings, model->severity, "preemption",
			    model->severity == FINDING_GOOD ? "" : by_debugfs ?
			    "echo full >" PREEMPT_FILE "; for good: boot with preempt=full" :
			    "boot with preempt=full on the kernel command line", "%s",
			    model->text);
	else
		finding_add(findings, FINDING_WARNING, "preemption",
			    file_exists(DEBUGFS "/sched") ?
			    "boot with preempt=full on the kernel command line" :
			    debugfs_mend(),
			    "Whether the kernel gives way to real-time tasks at once is not to be seen (PREEMPT_DYNAMIC).");
}

void check_preemption(struct inspection *inspection)
{
	struct findings *findings = &inspection->findings;
	struct text version = { 0 };

	if (file_read_line("/proc/version", &version))
		goto free;
	if (strstr(version.s, "PREEMPT_RT") || file_has("/sys/kernel/realtime", "1"))
		finding_add(findings, FINDING_GOOD, "preemption", "",
			    "The kernel is a PREEMPT_RT one: almost all of it gives way to real-time tasks.");
	else if (strstr(version.s, "PREEMPT_DYNAMIC"))
		check_dynamic_preemption(findings);
	else if (strstr(version.s, "PREEMPT"))
		finding_add(findings, FINDING_GOOD, "preemption", "", "%s", models[0].text);
	else
		finding_add(findings, FINDING_BAD, "preemption",
			    "boot a kernel with CONFIG_PREEMPT or CONFIG_PREEMPT_RT",
			    "The kernel is not preemptible: any task's system call delays real-time tasks, by milliseconds at times.");
free:
	text_free(&version);
}

static void add_counters(struct findings *findings)
{
	unsigned long long masked = 0, avoided = 0, longest = 0;
	struct timers_cpu *cpus;
	size_t count;

	if (timers_read(&cpus, &count))
		return;
	for (size_t i = 0; i < count; i++) {
		masked += cpus[i].masked;
		avoided += cpus[i].avoided;
		if (cpus[i].longest_hold > longest)
			longest = cpus[i].longest_hold;
	}
	free(cpus);
	finding_add(findings, FINDING_GOOD, "timers", "",
		    "The shield against timers is on: %llu timer%s masked since boot, %llu interrupt%s avoided, held back for %.1f us at most.",
		    masked, masked == 1 ? "" : "s", avoided, avoided == 1 ? "" : "s",
		    (double)longest / 1000);
}

void check_timers(struct inspection *inspection)
{
	struct findings *findings = &inspection->findings;
	int state = timers_get();

	if (state == -ENOENT)
		finding_add(findings, FINDING_WARNING, "timers",
			    "install a kernel with CONFIG_TIMERSHIELD ('make deb' in TimerShield's source builds one)",
			    "This kernel has no shield against timers: those of any task interrupt the task that matters.");
	else if (!state)
		finding_add(findings, FINDING_BAD, "timers", "timershield timers on",
			    "The shield against timers is off: those of any task interrupt the task that matters.");
	else if (state > 0)
		add_counters(findings);
}

static void check_fair_server(struct inspection *inspection)
{
	struct cpus served = { 0 };
	long long runtime, period, longest = 0, in = 0;
	char *list, *pattern, *mend;

	cpus_for_each(cpu, &inspection->watched) {
		char *file = format(FAIR_SERVER "/cpu%u/runtime", cpu);
		char *whole = format(FAIR_SERVER "/cpu%u/period", cpu);

		if (!file_read_number(file, &runtime) && runtime > 0 &&
		    !file_read_number(whole, &period)) {
			cpus_add(&served, cpu);
			if (runtime > longest) {
				longest = runtime;
				in = period;
			}
		}
		free(whole);
		free(file);
	}
	if (cpus_empty(&served))
		return;
	list = cpus_named(&served);
	pattern = cpus_pattern(&served, &inspection->shield.machine.online);
	mend = format("echo 0 | tee " FAIR_SERVER "/cpu%s/runtime", pattern);
	finding_add(&inspection->findings, FINDING_NOTE, "throttling", mend,
		    "Ordinary tasks that wait on %s may take %lld ms of each %lld ms from a real-time task that never gives way (fair server).",
		    list, longest / 1000000, in / 1000000);
	free(mend);
	free(pattern);
	free(list);
}

/* From Linux 6.12 on the fair server does what throttling did. */
void check_throttling(struct inspection *inspection)
{
	long long runtime, period;

	if (file_exists(FAIR_SERVER)) {
		check_fair_server(inspection);
		return;
	}
	if (machine_linux_since(6, 12)) {
		if (!file_exists(DEBUGFS "/sched"))
			finding_add(&inspection->findings, FINDING_NOTE, "throttling",
				    debugfs_mend(),
				    "What ordinary tasks may take from a real-time task that never gives way (fair server; 50 ms of each 1000 ms as a rule) is not to be seen.");
		return;
	}
	if (file_read_number("/proc/sys/kernel/sched_rt_runtime_us", &runtime) ||
	    file_read_number("/proc/sys/kernel/sched_rt_period_us", &period))
		return;
	if (runtime < 0 || runtime >= period)
		finding_add(&inspection->findings, FINDING_GOOD, "throttling", "",
			    "Real-time tasks are not throttled.");
	else
		finding_add(&inspection->findings, FINDING_WARNING, "throttling",
			    "sysctl kernel.sched_rt_runtime_us=-1",
			    "Real-time tasks that never give way are stopped for %lld ms of each %lld ms.",
			    (period - runtime) / 1000, period / 1000);
}

void check_slack(struct inspection *inspection)
{
	bool shielded = !cpus_empty(&inspection->shield.procs);
	long long slack;

	if (file_read_number("/proc/self/timerslack_ns", &slack))
		return;
	if (slack > SLACK_FINE)
		finding_add(&inspection->findings, FINDING_NOTE, "slack",
			    shielded ? "timershield run -- COMMAND" :
			    "shield a CPU, then timershield run -- COMMAND; or prctl(PR_SET_TIMERSLACK, 1)",
			    "Sleeps of ordinary tasks end up to %lld us late (timer slack); those of real-time tasks do not.",
			    slack / 1000);
	else
		finding_add(&inspection->findings, FINDING_GOOD, "slack", "",
			    "The timer slack of ordinary tasks is %lld ns.",
			    slack);
}

void check_clock_source(struct inspection *inspection)
{
	static const char * const fast[] = { "tsc", "tsc-early", "arch_sys_counter", "kvm-clock",
					     "riscv_clocksource", "timebase", "tod",
					     "xen", "hyperv_clocksource_tsc_page" };
	struct text now = { 0 }, available = { 0 };
	size_t i = 0;

	if (file_read_line(CLOCK_SOURCE "current_clocksource", &now))
		goto free;
	file_read_line(CLOCK_SOURCE "available_clocksource", &available);
	while (i < ARRAY_SIZE(fast) && strcmp(fast[i], now.s))
		i++;
	if (i < ARRAY_SIZE(fast))
		finding_add(&inspection->findings, FINDING_GOOD, "clocksource", "",
			    "The clock source, %s, is read without leaving the CPU.",
			    now.s);
	else
		finding_add(&inspection->findings, FINDING_BAD, "clocksource",
			    strstr(available.s, "tsc") ?
			    "echo tsc >" CLOCK_SOURCE "current_clocksource" :
			    "if this machine's TSC is sound: boot with tsc=reliable",
			    "The clock source is %s: each reading of the clock takes about a microsecond, and the tasks' system calls with it.",
			    now.s);
free:
	text_free(&available);
	text_free(&now);
}

void check_virtual(struct inspection *inspection)
{
	if (machine_is_virtual())
		finding_add(&inspection->findings, FINDING_WARNING, "virtual",
			    "on its host: timershield shield CPULIST; timershield run -c CPULIST -P the machine's process",
			    "This is a virtual machine: its host may stop any CPU of it at any time.");
}
