// SPDX-License-Identifier: GPL-2.0-or-later
/* Status: the tick, and what else the kernel does on isolated CPUs: RCU, timers. */
#include "finding.h"
#include "lib/file.h"
#include "lib/kernel.h"

/* WHAT happens on these CPUs, and would not with OPTION, of a kernel with CONFIG. */
static void add_work(struct inspection *inspection, const char *id, const struct cpus *cpus,
		     const char *what, const char *option, const char *config)
{
	autofree char *list = cpus_list(cpus), *named = cpus_named(cpus);
	autofree char *mend = format("boot with %s=%s (%s)", option, list, config);

	finding_add(&inspection->findings, FINDING_NOTE, id, mend, "%s %s.", what, named);
}

/* The CPUs of rcu_nocbs= on the command line: no other file has them. */
static int without_callbacks(const struct cpus *possible, struct cpus *cpus)
{
	autofree char *list = kernel_parameter("rcu_nocbs");
	unsigned int last = 0;

	cpus_for_each(cpu, possible)
		last = cpu;
	*cpus = list && !*list ? *possible : (struct cpus){ 0 };
	return list && *list ? cpus_parse_boot(cpus, list, last) : 0;
}

#define MIGRATION "/proc/sys/kernel/timer_migration"

/*
 * A timer is queued where it is armed, unless that CPU is idle or in nohz_full. Then another one is
 * chosen in the same scheduling domain, which isolated CPUs are not in. From 6.9 on this is so for
 * high-resolution timers alone.
 */
static void add_migration(struct inspection *inspection, const struct cpus *full)
{
	const bool all = !machine_linux_since(6, 9);
	const char *kind = all ? "Timers" : "High-resolution timers";
	struct findings *findings = &inspection->findings;
	autofree char *named = cpus_named(full);
	long long on = 0;
	int ret = file_read_number(MIGRATION, &on);

	if (ret && ret != -ENOENT)
		finding_unknown(findings, "timer_migration", "Whether timers are queued elsewhere",
				MIGRATION, ret);
	else if (on && !cpus_empty(full))
		finding_add(findings, FINDING_NOTE, "timer_migration", all ?
			    "sysctl kernel.timer_migration=0, but then the kernel's own timers stay there, too" :
			    "sysctl kernel.timer_migration=0",
			    "%s that are armed on %s (nohz_full), a task's sleeps too, may be queued on other CPUs, which wake it late when they are busy.",
			    kind, named);
	else if (on && cpus_empty(&inspection->isolation.isolated))
		finding_add(findings, FINDING_NOTE, "timer_migration",
			    "sysctl kernel.timer_migration=0, which keeps every timer on the CPU that armed it",
			    "%s that an idle CPU arms may be queued on a busy one, and interrupt it.",
			    kind);
	else
		finding_add(findings, FINDING_GOOD, "timer_migration", "", on ?
			    "Timers are not queued on isolated CPUs by others." :
			    "Timers are queued on the CPU that arms them.");
}

/* Whether a user task may run on this CPU above the THREAD that works for RCU there. */
static bool add_outranked(struct inspection *inspection, const struct task *thread, unsigned int cpu)
{
	tasks_for_each(task, &inspection->tasks) {
		autofree char *policy = policy_text(task->policy, task->rt_priority);
		autofree char *mend =
			format("timershield run -p %d -P %d; or boot with nohz_full=%u",
			       task->rt_priority < 99 ? task->rt_priority + 1 : 99, thread->tid, cpu);

		if (task->flags & TASK_KERNEL_THREAD || !cpus_has(&task->cpus, cpu) ||
		    task->rt_priority <= thread->rt_priority)
			continue;
		finding_add(&inspection->findings, FINDING_WARNING, "rcu_threads", mend,
			    "%s[%d], %s, outranks rcuc/%u: if it never sleeps, whatever waits for RCU hangs, on all CPUs.",
			    task->name, task->tid, policy, cpu);
		return true;
	}
	return false;
}

/*
 * With PREEMPT_RT a thread, FIFO 1 by default, tells RCU that its CPU has let go of what is to be
 * freed. In nohz_full user space is known to have.
 */
static void add_rcu_threads(struct inspection *inspection, const struct cpus *ticking)
{
	tasks_for_each(thread, &inspection->tasks) {
		unsigned int cpu;

		if (thread->flags & TASK_KERNEL_THREAD &&
		    sscanf(thread->name, "rcuc/%u", &cpu) == 1 && cpus_has(ticking, cpu) &&
		    add_outranked(inspection, thread, cpu))
			return;
	}
}

/* nohz_full= implies rcu_nocbs=. */
void check_tick(struct inspection *inspection)
{
	const struct isolation *isolation = &inspection->isolation;
	struct cpus full = { 0 }, quiet, ticking, busy;
	int ret;

	/* "(null)" where there is none. */
	if (file_read_cpus(CPU_DIRECTORY "/nohz_full", &full))
		full = (struct cpus){ 0 };
	ticking = cpus_and_not(&isolation->isolated, &full);
	ret = without_callbacks(&isolation->machine.possible, &quiet);
	busy = cpus_and_not(&ticking, &quiet);
	if (!cpus_empty(&ticking)) {
		add_work(inspection, "tick", &ticking, "The scheduler's tick interrupts tasks on",
			 "nohz_full", "CONFIG_NO_HZ_FULL");
		add_rcu_threads(inspection, &ticking);
	}
	if (ret && !cpus_empty(&ticking))
		finding_add(&inspection->findings, FINDING_UNKNOWN, "rcu", "",
			    "Where RCU callbacks run is unknown: rcu_nocbs= on the kernel's command line is not a list of this machine's CPUs.");
	else if (!cpus_empty(&busy))
		add_work(inspection, "rcu", &busy, "RCU callbacks run on", "rcu_nocbs",
			 "CONFIG_RCU_NOCB_CPU");
	add_migration(inspection, &full);
}
