// SPDX-License-Identifier: GPL-2.0-or-later
/* Status: what the kernel is and does. */
#include "finding.h"
#include "lib/file.h"
#include "lib/kernel.h"
#include "lib/timers.h"

#define DEBUGFS "/sys/kernel/debug"
#define PREEMPT_FILE DEBUGFS "/sched/preempt"
#define LOCKDOWN "/sys/kernel/security/lockdown"

struct preemption {
	const char *name;		/* as in preempt= and in debugfs */
	enum severity severity;
	const char *text;
};

static const struct preemption models[] = {
	{ "full", FINDING_GOOD,
	  "The kernel is preemptible. PREEMPT_RT is also preemptible in interrupt handlers." },
	{ "lazy", FINDING_GOOD,
	  "The kernel is preemptible: at once by real-time tasks, later by others (lazy preemption)." },
	{ "voluntary", FINDING_BAD,
	  "The kernel can be preempted only at some points (voluntary preemption)." },
	{ "none", FINDING_BAD,
	  "The kernel is not preemptible: system calls may delay real-time tasks for milliseconds." },
};

static const struct preemption *model_by_file(const char *path, const char *before,
					      const char *after)
{
	for (size_t i = 0; i < ARRAY_SIZE(models); i++) {
		autofree char *word = format("%s%s%s", before, models[i].name, after);

		if (file_has(path, word))
			return &models[i];
	}
	return NULL;
}

static const struct preemption *model_by_option(void)
{
	static const char * const options[] = {
		"CONFIG_PREEMPT", "CONFIG_PREEMPT_LAZY", "CONFIG_PREEMPT_VOLUNTARY",
		"CONFIG_PREEMPT_NONE",
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (kernel_has(options[i]))
			return &models[i];
	return NULL;
}

/* With PREEMPT_DYNAMIC it is chosen at boot, and may be changed: the latest word counts. */
static const struct preemption *chosen_model(void)
{
	const struct preemption *model = model_by_file(PREEMPT_FILE, "(", ")");

	if (!model)
		model = model_by_file("/proc/cmdline", "preempt=", "");
	return model ? model : model_by_option();
}

static void check_dynamic_preemption(struct findings *findings)
{
	const struct preemption *model = chosen_model();
	const char *mend = "boot with preempt=full on the kernel command line";
	/* A kernel that is locked down shows the file, but does not open it. */
	const bool can_be_chosen = model_by_file(PREEMPT_FILE, "(", ")");

	if (!model)
		finding_add(findings, FINDING_UNKNOWN, "preemption",
			    geteuid() ? "run timershield as root" : mend,
			    "Whether the kernel is preemptible is unknown: debugfs, its command line and configuration do not say (PREEMPT_DYNAMIC).");
	else if (model->severity == FINDING_GOOD)
		finding_add(findings, FINDING_GOOD, "preemption", "", "%s", model->text);
	else
		finding_add(findings, model->severity, "preemption",
			    can_be_chosen ?
			    "echo full >" PREEMPT_FILE "; for good: boot with preempt=full" : mend,
			    "%s", model->text);
}

static bool is_preempt_rt(void)
{
	return file_has("/proc/version", "PREEMPT_RT") || file_has("/sys/kernel/realtime", "1");
}

void check_preemption(struct inspection *inspection)
{
	struct findings *findings = &inspection->findings;
	autotext struct text version = { 0 };
	int ret = file_read_line("/proc/version", &version);

	if (ret)
		finding_unknown(findings, "preemption",
				"Whether the kernel is preemptible",
				"/proc/version", ret);
	else if (is_preempt_rt())
		finding_add(findings, FINDING_GOOD, "preemption", "",
			    "This is a PREEMPT_RT kernel: real-time tasks can preempt almost all of it.");
	else if (strstr(version.s, "PREEMPT_DYNAMIC"))
		check_dynamic_preemption(findings);
	else if (strstr(version.s, "PREEMPT"))
		finding_add(findings, FINDING_GOOD, "preemption", "", "%s", models[0].text);
	else
		finding_add(findings, FINDING_BAD, "preemption",
			    "boot a kernel with CONFIG_PREEMPT or CONFIG_PREEMPT_RT",
			    "The kernel is not preemptible: any task's system call can delay real-time tasks by milliseconds.");
}

/* A task is where its timer is served only if it cannot have moved meanwhile. */
static void check_levels(struct inspection *inspection)
{
	const struct task *task = tasks_unpinned(&inspection->tasks);
	struct findings *findings = &inspection->findings;
	autofree char *cpus = NULL, *policy = NULL, *mend = NULL;

	if (!task) {
		finding_add(findings, FINDING_GOOD, "timers_mode", "",
			    "The timer shield orders real-time tasks by level, and all of them are pinned.");
		return;
	}
	cpus = cpus_named(&task->cpus);
	policy = policy_text(task->policy, task->rt_priority);
	mend = format("timershield timers on; or timershield run -c CPU -P %d, for each of them",
		      task->pid);
	finding_add(findings, FINDING_WARNING, "timers_mode", mend,
		    "The timer shield's levels are for pinned real-time tasks: %s[%d], %s, may run on %s, and wake up to two ticks late.",
		    task->name, task->tid, policy, cpus);
}

/* STATE is not on: TIMERS_OFF or -ENOENT. With PREEMPT_RT most timers expire in a thread. */
static void add_shield_off(struct findings *findings, int state)
{
	const bool present = !state || timers_module_there(), rt = is_preempt_rt();
	const char *is = !state ? "The timer shield is off" :
			 present ? "The timer shield is a module that is not loaded" :
			 "This kernel has no timer shield";

	if (rt)
		finding_add(findings, FINDING_NOTE, "timers", present ?
			    "timershield timers levels, where real-time tasks of different priorities share a CPU" : "",
			    "%s. On PREEMPT_RT timers of ordinary tasks hardly interrupt a real-time task.", is);
	else
		finding_add(findings, present ? FINDING_BAD : FINDING_WARNING, "timers",
			    present ? "timershield timers on" : timers_module_possible() ?
			    "load the module ('make module' in TimerShield's source builds it), or boot a kernel with its patches ('make deb')" :
			    "boot a kernel with the patches ('make deb' in TimerShield's source builds one), or Debian's 6.1, 6.12, 7.2 or 7.3, for which there is a module",
			    "%s: any task's timers can interrupt your real-time task.", is);
}

void check_timers(struct inspection *inspection)
{
	struct findings *findings = &inspection->findings;
	int state = timers_get();

	if (state == TIMERS_LEVELS)
		check_levels(inspection);
	if (state > 0)
		finding_add(findings, FINDING_GOOD, "timers", "", "The timer shield is on.");
	else if (!state || state == -ENOENT)
		add_shield_off(findings, state);
	else
		finding_unknown(findings, "timers", "Whether the timer shield is on",
				TIMERS_SWITCH, state);
}

/* Why the scheduler's files in debugfs are not there, and what changes that. */
static void add_debugfs_unknown(struct findings *findings, const char *id, const char *what)
{
	bool lockdown = file_has(LOCKDOWN, "[integrity]") ||
			file_has(LOCKDOWN, "[confidentiality]") || file_exists(DEBUGFS "/sched");

	finding_add(findings, FINDING_UNKNOWN, id,
		    geteuid() ? "run timershield as root" : lockdown ? "" :
		    "mount -t debugfs none " DEBUGFS,
		    "%s is unknown: " DEBUGFS "/sched cannot be read%s.", what,
		    lockdown ? ", for the kernel is locked down" : "");
}

/* Whether its files could be read. */
static bool add_fair_server(struct inspection *inspection)
{
	struct cpus served = { 0 };
	long long runtime, period, longest = 0, in = 0;
	autofree char *list = NULL, *pattern = NULL, *mend = NULL;

	cpus_for_each(cpu, &inspection->watched) {
		autofree char *file = format(FAIR_SERVER "/cpu%u/runtime", cpu);
		autofree char *whole = format(FAIR_SERVER "/cpu%u/period", cpu);

		if (file_read_number(file, &runtime) || file_read_number(whole, &period))
			return false;
		if (runtime > 0) {
			cpus_add(&served, cpu);
			if (runtime > longest) {
				longest = runtime;
				in = period;
			}
		}
	}
	if (cpus_empty(&served)) {
		finding_add(&inspection->findings, FINDING_GOOD, "fair_server", "",
			    "No time is set aside for ordinary tasks (fair server).");
		return true;
	}
	list = cpus_named(&served);
	pattern = cpus_pattern(&served, &inspection->isolation.machine.online);
	mend = fair_server_can_stop() ?
	       format("echo 0 | tee " FAIR_SERVER "/cpu%s/runtime", pattern) : copy("");
	finding_add(&inspection->findings, FINDING_NOTE, "fair_server", mend,
		    "Ordinary tasks that wait on %s may take %lld ms of each %lld ms from a real-time task that never sleeps (fair server%s).",
		    list, longest / 1000000, in / 1000000, fair_server_can_stop() ? "" :
		    "; before 7.0 the kernel warns when it is stopped");
	return true;
}

void check_fair_server(struct inspection *inspection)
{
	if (file_exists(FAIR_SERVER) ? !add_fair_server(inspection) :
	    machine_linux_since(6, 12) && !file_exists(DEBUGFS "/sched"))
		add_debugfs_unknown(&inspection->findings, "fair_server",
				    "What ordinary tasks may take from a real-time task that never sleeps (fair server; 50 ms of each 1000 ms by default)");
}

/* From Linux 6.12 on only kernels with CONFIG_RT_GROUP_SCHED do it. */
static bool may_throttle(const char **unless)
{
	autofree char *option = NULL;
	bool may = true;

	*unless = "";
	if (!machine_linux_since(6, 12))
		return true;
	option = kernel_option("CONFIG_RT_GROUP_SCHED");
	if (!option)
		*unless = ", if it has CONFIG_RT_GROUP_SCHED: its configuration cannot be read";
	else
		may = *option;
	return may;
}

void check_throttling(struct inspection *inspection)
{
	long long runtime, period;
	const char *unless;
	int ret = file_read_number("/proc/sys/kernel/sched_rt_runtime_us", &runtime);

	if (!ret)
		ret = file_read_number("/proc/sys/kernel/sched_rt_period_us", &period);
	if (ret)
		finding_unknown(&inspection->findings, "throttling",
				"Whether real-time tasks are throttled",
				"/proc/sys/kernel/sched_rt_runtime_us", ret);
	else if (runtime < 0 || runtime >= period || !may_throttle(&unless))
		finding_add(&inspection->findings, FINDING_GOOD, "throttling", "",
			    "Real-time tasks are not throttled.");
	else
		finding_add(&inspection->findings, *unless ? FINDING_UNKNOWN : FINDING_WARNING,
			    "throttling", "sysctl kernel.sched_rt_runtime_us=-1",
			    "The kernel stops real-time tasks that never sleep for %lld ms of each %lld ms%s.",
			    (period - runtime) / 1000, period / 1000, unless);
}
