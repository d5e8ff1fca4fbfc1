// SPDX-License-Identifier: GPL-2.0-or-later
/* Status: settings of the kernel whose work in the background disturbs. */
#include "finding.h"
#include "lib/cgroup.h"
#include "lib/file.h"
#include "lib/refusal.h"

#include <limits.h>
#include <sched.h>
#include <sys/wait.h>

/* The values, from the least to the most, that disturb; [always] is 1. */
static const struct {
	const char *id, *path, *name;
	long long least, most;
	enum severity severity;
	const char *text, *mend;
} settings[] = {
	{ "thp", "/sys/kernel/mm/transparent_hugepage/enabled", "transparent huge pages", 1, 1,
	  FINDING_NOTE,
	  "Transparent huge pages are on for every process: making one stalls the task that touches the memory.",
	  "echo madvise >/sys/kernel/mm/transparent_hugepage/enabled" },
	{ "ksm", "/sys/kernel/mm/ksm/run", "KSM", 1, 1, FINDING_NOTE,
	  "The kernel merges equal pages (KSM): the next write to one takes a fault.",
	  "echo 2 >/sys/kernel/mm/ksm/run" },
	{ "numa_balancing", "/proc/sys/kernel/numa_balancing", "NUMA balancing", 1, LLONG_MAX,
	  FINDING_WARNING,
	  "NUMA balancing unmaps memory of running tasks, to see from the faults which task uses it.",
	  "sysctl kernel.numa_balancing=0" },
	{ "watchdog", "/proc/sys/kernel/watchdog", "lockup watchdogs", 1, LLONG_MAX, FINDING_NOTE,
	  "The lockup watchdogs interrupt every CPU every few seconds.",
	  "sysctl kernel.watchdog=0; or kernel.watchdog_cpumask= with the other CPUs alone" },
	{ "stat_interval", "/proc/sys/vm/stat_interval", "frequent memory statistics", 0, 9,
	  FINDING_NOTE,
	  "The kernel adds up memory statistics on every CPU every few seconds (vm.stat_interval).",
	  "sysctl vm.stat_interval=120" },
};

void check_settings(struct inspection *inspection)
{
	autotext struct text text = { 0 }, quiet = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		int ret = file_read_line(settings[i].path, &text);
		long long value = strstr(text.s, "[always]") ? 1 : atoll(text.s);
		autofree char *what = NULL;

		if (!ret && value >= settings[i].least && value <= settings[i].most) {
			finding_add(&inspection->findings, settings[i].severity, settings[i].id,
				    settings[i].mend, "%s", settings[i].text);
		} else if (!ret || ret == -ENOENT) {
			text_add(&quiet, "%s%s", quiet.length ? ", " : "", settings[i].name);
		} else {
			what = format("Whether this disturbs: %s,", settings[i].name);
			finding_unknown(&inspection->findings, settings[i].id, what,
					settings[i].path, ret);
		}
	}
	if (quiet.length)
		finding_add(&inspection->findings, FINDING_GOOD, "settings", "",
			    "Off or not built in: %s.", quiet.s);
}

/* Asking is the only way to see a filter of system calls at work. */
static int try_realtime(void)
{
	struct sched_param parameter = { .sched_priority = 1 };
	int status = 0;
	pid_t pid = *file_root() ? -1 : fork();

	if (!pid)
		_exit(sched_setscheduler(0, SCHED_FIFO, &parameter) ? errno : 0);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return -WEXITSTATUS(status);
}

void check_limits(struct inspection *inspection)
{
	struct findings *findings = &inspection->findings;
	const long long limit = refusal_limit();
	struct refusal refusal = { 0 };
	const int ret = try_realtime();
	const bool found = (ret || *file_root()) && refusal_find(&refusal, 0, 1);

	if (!ret && limit < 0)
		finding_unknown(findings, "rtprio", "Whether you may use real-time priorities",
				"/proc/self/limits", -ENOENT);
	else if (found)
		finding_add(findings, FINDING_WARNING, "rtprio", refusal.mend,
			    "You may not use real-time priorities: %s.", refusal.reason);
	else if (ret)
		finding_add(findings, FINDING_WARNING, "rtprio", "",
			    "You may not use real-time priorities, although CAP_SYS_NICE is there: %s.",
			    strerror(-ret));
	else if (limit >= 99)
		finding_add(findings, FINDING_GOOD, "rtprio", "",
			    "You may use all real-time priorities.");
	else
		finding_add(findings, FINDING_GOOD, "rtprio", "",
			    "You may use real-time priorities up to %lld.", limit);
	refusal_free(&refusal);
}

/* Whether systemd hands groups over to a user who has logged in, with what makes timers of quotas. */
static bool users_have_quotas(void)
{
	autonames struct names groups = { 0 };
	bool have = false;

	file_glob("/sys/fs/cgroup/user.slice/user-*.slice/user@*.service", &groups);
	for (size_t i = 0; i < groups.count; i++) {
		autofree char *controllers = cgroup_read(groups.items[i], "cgroup.controllers");

		have |= controllers && has_word(controllers, "cpu");
	}
	return have;
}

/* Timers of the kernel's own, which no shield masks. */
void check_unprivileged(struct inspection *inspection)
{
	long long most = 0, debian = 1, ubuntu = 0;
	const bool quotas = users_have_quotas();
	autofree char *mend = NULL;
	bool spaces;

	file_read_number("/proc/sys/user/max_user_namespaces", &most);
	file_read_number("/proc/sys/kernel/unprivileged_userns_clone", &debian);
	file_read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", &ubuntu);
	spaces = most > 0 && debian && !ubuntu;
	mend = format("%s%s%s", spaces ? "sysctl user.max_user_namespaces=0" : "",
		      spaces && quotas ? "; and " : "",
		      quotas ? "in user@.service: Delegate= and then Delegate=memory pids (systemctl edit)" : "");
	if (spaces || quotas)
		finding_add(&inspection->findings, FINDING_NOTE, "unprivileged", mend,
			    "Any user may arm timers that no shield masks: %s%s%s.",
			    spaces ? "packet schedules (taprio) in user namespaces" : "",
			    spaces && quotas ? ", and " : "",
			    quotas ? "nested quotas (cpu.max) in groups that systemd delegates" : "");
}
