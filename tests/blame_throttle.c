// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What keeps a task from running though nothing ranks above it: the CPU quota of a group above its
 * own, against cpu.stat; real-time throttling or, from Linux 6.12 on, the fair server, against the task's own
 * gaps. A task of another level that runs meanwhile is not to blame.
 */
#define _GNU_SOURCE
#include "lib/blame.h"

#include "file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <unistd.h>

#define CGROUP "/sys/fs/cgroup"
#define GROUP CGROUP "/limited"
#define LEAF GROUP "/leaf"		/* its own limit never acts */
#define FAIR_SERVER "/sys/kernel/debug/sched/fair_server/cpu0/"
#define RUNTIME "/proc/sys/kernel/sched_rt_runtime_us"
#define CONSOLE_LEVEL "/proc/sys/kernel/printk"
#define PERIOD "/proc/sys/kernel/sched_rt_period_us"
#define READ_CLEAR 4		/* of klogctl() */

enum { THROTTLED_NS };

static void hog(unsigned int load)
{
	blame_ready();
	/* on PREEMPT_RT its timer would not expire once the victim spins */
	sleep_until(truth->first - 50 * MSEC);
	while (!atomic_load(&truth->done))
		truth->loads[load].count++;
}

/* Called by the victim: enters the group, reads how long that was throttled. */
static void count_throttled(u64 *counters)
{
	char text[1024] = "", pid[16];
	const char *at;

	snprintf(pid, sizeof(pid), "%d", getpid());
	file_write(CGROUP "/cgroup.subtree_control", "+cpu");
	mkdir(GROUP, 0755);
	file_write(GROUP "/cpu.max", "20000 100000");
	file_write(GROUP "/cgroup.subtree_control", "+cpu");
	mkdir(LEAF, 0755);
	file_write(LEAF "/cpu.max", "900000 1000000");
	file_write(LEAF "/cgroup.procs", pid);
	file_read(GROUP "/cpu.stat", text, sizeof(text));
	at = strstr(text, "throttled_usec ");
	counters[THROTTLED_NS] = at ? strtoull(at + strlen("throttled_usec "), NULL, 10) * 1000 : 0;
}

static const struct blame_scenario scenarios[] = {
	{ .name = "alone", .victim = OTHER, .count = count_throttled },
	{
		.name = "competing", .victim = OTHER, .count = count_throttled,
		.loads = { { "hog", hog, 1 }, { "hog", hog, 1 }, { "hog", hog, 1 } },
	},
	{ .name = "realtime", .victim = FIFO(50), .loads = { { "hog", hog, 1 } } },
	{ 0 },
};

static void check_throttled(const char *victim, const char *name, double expected)
{
	struct blame_wanted wanted = { .kind = "throttled", .name = name };
	double found = blame_sum(victim, wanted, "total_ns");

	note("%s: %.1f ms, expected %.1f ms; %.0f times", name, found / MSEC, expected / MSEC,
	     blame_sum(victim, wanted, "count"));
	check(expected > 0, "it was not throttled");
	check(found > expected * 0.98 && found < expected * 1.02,
	      "blame says %.1f ms of %s, expected %.1f ms", found / MSEC, name, expected / MSEC);
	check(strstr(victim, "\"remedy\": \"timershield isolate") == NULL ||
	      blame_sum(victim, (struct blame_wanted){ .kind = "task" }, "total_ns") > 0,
	      "isolation was advised");
}

static void names_quota_of(const char *scenario)
{
	const char *victim;

	file_write(CGROUP "/cgroup.subtree_control", "+cpu");
	mkdir(GROUP, 0755);
	if (access(GROUP "/cpu.max", F_OK))
		skip("this kernel has no CPU quotas");
	victim = blame_run(scenario);
	check_throttled(victim, "CPU quota of /limited (cpu.max)", truth->counters[THROTTLED_NS]);
}

TEST(names_quota) { names_quota_of("alone"); }

TEST(names_quota_with_others) { names_quota_of("competing"); }

/* The kernel says once that it throttles, which is wanted here: the lab would report it. */
static void forget_throttling(void)
{
	static char log[1 << 18];

	klogctl(READ_CLEAR, log, sizeof(log) - 1);
	check(!strstr(log, "WARNING: ") && !strstr(log, "BUG: "), "the kernel said: %s", log);
}

TEST(names_throttling)
{
	bool server = !access(FAIR_SERVER "runtime", F_OK);
	const char *victim;

	if (server) {
		file_write(FAIR_SERVER "period", "100000000");
		file_write(FAIR_SERVER "runtime", "30000000");
	} else {
		file_write(PERIOD, "100000");
		file_write(RUNTIME, "70000");
	}
	file_write(CONSOLE_LEVEL, "3");
	victim = blame_run("realtime");
	file_write(CONSOLE_LEVEL, "5");
	forget_throttling();
	check_throttled(victim, server ? "fair server" : "real-time throttling", truth->gap_total);
}

int main(int argc, char **argv)
{
	return blame_main(argc, argv, scenarios);
}
