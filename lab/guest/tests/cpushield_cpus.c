// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shielded CPUs with what else decides where tasks run: CPUs that go and come
 * back, and cpusets. Three CPUs, of which CPU 0 cannot go.
 */
#define _GNU_SOURCE
#include "lib/cpushield.h"
#include "file.h"
#include "lib/task.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALL (CPU(0) | CPU(1) | CPU(2))
#define CGROUPS "/sys/fs/cgroup"
#define GROUP CGROUPS "/cpushield"

static void prepare(void)
{
	cpushield_prepare(3);
	require(cpus_online() == ALL, "these tests are for exactly three CPUs");
	if (access("/sys/devices/system/cpu/cpu2/online", F_OK))
		skip("CPUs cannot go offline");
}

static void online(int cpu, bool is)
{
	int ret = cpu_set_online(cpu, is);

	require(!ret, "CPU %d does not go %s: %s", cpu, is ? "online" : "offline", strerror(-ret));
}

/* The shield outlives it; those that had it alone fare as without a shield. */
static void shielded_cpu_goes_and_comes_back(void)
{
	pid_t alone, both, all;
	struct spinner spinner;
	cpus_t seen;

	prepare();
	alone = start_waiter();
	both = start_waiter();
	all = start_waiter();
	spinner = start_spinner();
	set_affinity(alone, CPU(1));
	set_affinity(both, CPU(1) | CPU(2));
	shield_cpus(PROCS, CPU(1));
	online(1, false);
	check(shielded(PROCS) == CPU(1), "the shield is '%s'", cpus_text(shielded(PROCS)));
	expect_affinity(both, CPU(2), "asked for 1 and 2, 1 is offline");
	expect_affinity(all, CPU(0) | CPU(2), "asked for all, 1 is offline");
	online(1, true);
	check(shielded(PROCS) == CPU(1), "the shield is '%s'", cpus_text(shielded(PROCS)));
	expect_affinity(both, CPU(2), "asked for 1 and 2, 1 is back");
	expect_affinity(all, CPU(0) | CPU(2), "asked for all, 1 is back");
	expect_affinity(alone, CPU(1), "asked for 1 and slept all the time");
	seen = spinner_watch(&spinner, 50 * MSEC);
	check(seen && !(seen & CPU(1)), "a running task is seen on '%s'", cpus_text(seen));
	shield_cpus(PROCS, 0);
	expect_affinity(both, CPU(1) | CPU(2), "no shield any more");
}

/* One that runs there alone is pushed off, as on any kernel, and stays out then. */
static void running_task_that_had_it_alone(void)
{
	struct spinner spinner;
	cpus_t seen;

	prepare();
	spinner = start_spinner();
	set_affinity(spinner.pid, CPU(1));
	shield_cpus(PROCS, CPU(1));
	seen = spinner_watch(&spinner, 20 * MSEC);
	check(seen == CPU(1), "it is seen on '%s'", cpus_text(seen));
	online(1, false);
	seen = spinner_watch(&spinner, 20 * MSEC);
	check(seen && !(seen & CPU(1)), "CPU 1 is offline, it is seen on '%s'", cpus_text(seen));
	online(1, true);
	seen = spinner_watch(&spinner, 20 * MSEC);
	check(seen && !(seen & CPU(1)), "CPU 1 is back, it is seen on '%s'", cpus_text(seen));
	expect_affinity(spinner.pid, CPU(0) | CPU(2), "CPU 1 is back");
}

/* Then everything runs on shielded CPUs, until it comes back. */
static void last_unshielded_cpu_goes_and_comes_back(void)
{
	struct spinner spinner;
	pid_t sleeper, narrow;
	cpus_t seen;

	prepare();
	sleeper = start_waiter();
	narrow = start_waiter();
	spinner = start_spinner();
	set_affinity(narrow, CPU(1) | CPU(2));
	shield_cpus(PROCS, CPU(0) | CPU(1));
	expect_affinity(sleeper, CPU(2), "all but 2 are shielded");
	seen = spinner_watch(&spinner, 20 * MSEC);
	check(seen == CPU(2), "all but 2 are shielded, a task is seen on '%s'", cpus_text(seen));
	online(2, false);
	expect_affinity(sleeper, CPU(0) | CPU(1), "no unshielded CPU is online");
	expect_affinity(narrow, CPU(1), "asked for 1 and 2");
	expect_affinity(0, CPU(0) | CPU(1), "the task that took the CPU offline");
	seen = spinner_watch(&spinner, 20 * MSEC);
	check(seen, "a running task has stopped");
	check(try_shield(PROCS, CPU(0) | CPU(1)) == -EBUSY, "shielded every CPU");
	check(shielded(PROCS) == (CPU(0) | CPU(1)), "the shield is '%s'",
	      cpus_text(shielded(PROCS)));
	online(2, true);
	expect_affinity(sleeper, CPU(2), "the unshielded CPU is back");
	expect_affinity(narrow, CPU(2), "asked for 1 and 2, 2 is back");
	seen = spinner_watch(&spinner, 20 * MSEC);
	check(seen == CPU(2), "2 is back, a task is seen on '%s'", cpus_text(seen));
	shield_cpus(PROCS, 0);
	expect_affinity(sleeper, ALL, "no shield any more");
	expect_affinity(narrow, CPU(1) | CPU(2), "no shield any more");
}

static void write_group(const char *file, const char *text)
{
	int ret = file_write(file, text);

	require(!ret, "%s: %s", file, strerror(-ret));
}

static void prepare_group(const char *cpus)
{
	prepare();
	if (access(CGROUPS "/cgroup.controllers", F_OK))
		skip("no cgroup v2 at " CGROUPS);
	write_group(CGROUPS "/cgroup.subtree_control", "+cpuset");
	require(!mkdir(GROUP, 0755) || errno == EEXIST, "mkdir: %s", strerror(errno));
	write_group(GROUP "/cpuset.cpus", cpus);
}

static void enter(const char *group, pid_t pid)
{
	char path[128], text[16];

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	snprintf(text, sizeof(text), "%d", pid);
	write_group(path, text);
}

static void leave_group(void)
{
	char text[4096], *line, *rest;

	require(file_read(GROUP "/cgroup.procs", text, sizeof(text)) >= 0, GROUP);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		file_write(CGROUPS "/cgroup.procs", line);
	check(!rmdir(GROUP), "rmdir: %s", strerror(errno));
}

static void in_a_cpuset(void)
{
	pid_t first, second, third;

	prepare_group("0-1");
	first = start_waiter();
	enter(GROUP, first);
	shield_cpus(PROCS, CPU(1));
	expect_affinity(first, CPU(0), "was in the cpuset before");
	second = start_waiter();
	enter(GROUP, second);
	expect_affinity(second, CPU(0), "entered the cpuset afterwards");
	set_affinity(second, CPU(1) | CPU(2));
	expect_affinity(second, CPU(1), "asked for what the cpuset has of 1 and 2");
	enter(GROUP, getpid());
	third = start_waiter();
	expect_affinity(third, CPU(0), "born in the cpuset");
	write_group(GROUP "/cpuset.cpus", "1-2");
	expect_affinity(first, CPU(2), "the cpuset has 1 and 2 now");
	expect_affinity(third, CPU(2), "the cpuset has 1 and 2 now");
	shield_cpus(PROCS, CPU(2));
	expect_affinity(first, CPU(1), "2 is shielded now");
	shield_cpus(PROCS, 0);
	expect_affinity(first, CPU(1) | CPU(2), "no shield any more");
	expect_affinity(second, CPU(1) | CPU(2), "no shield any more");
	expect_affinity(third, CPU(1) | CPU(2), "born in the cpuset, no shield any more");
	leave_group();
	expect_affinity(first, ALL, "left the cpuset");
}

static void cpuset_of_shielded_cpus(void)
{
	const char *line;
	pid_t pid;

	prepare_group("1");
	shield_cpus(PROCS, CPU(1));
	pid = start_waiter();
	enter(GROUP, pid);
	expect_affinity(pid, CPU(1), "put into a cpuset of the shielded CPU");
	line = report_line("task", pid);
	check(line && strstr(line, "cpuset has shielded CPUs alone"), "in the report: %s",
	      line ? line : "(nothing)");
	write_group(GROUP "/cpuset.cpus", "0-1");
	expect_affinity(pid, CPU(0), "the cpuset has 0 and 1 now");
	leave_group();
}

/* Whoever may write to a cpuset may not take shielded CPUs with it. */
static void delegated_cpuset(void)
{
	pid_t pid;

	prepare_group("0-1");
	shield_cpus(PROCS, CPU(1));
	require(!chown(GROUP "/cpuset.cpus", 1000, 1000), "chown: %s", strerror(errno));
	pid = fork();
	if (!pid) {
		int ret;

		become_unprivileged();
		ret = file_write(GROUP "/cpuset.cpus", "1");
		check(ret == -EPERM, "a cpuset of the shielded CPU: %s", strerror(-ret));
		ret = file_write(GROUP "/cpuset.cpus", "1-2");
		check(!ret, "a cpuset of 1 and 2: %s", strerror(-ret));
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	leave_group();
}

/* A partition takes its CPUs from all others; the shield is within what is left. */
static void isolated_partition(void)
{
	char text[64];
	pid_t pid;

	prepare_group("2");
	write_group(GROUP "/cpuset.cpus.partition", "isolated");
	require(file_read(GROUP "/cpuset.cpus.partition", text, sizeof(text)) > 0, "partition");
	require(!strcmp(text, "isolated\n"), "the partition is '%s'", text);
	pid = start_waiter();
	expect_affinity(pid, CPU(0) | CPU(1), "outside the partition");
	shield_cpus(PROCS, CPU(1));
	expect_affinity(pid, CPU(0), "outside the partition, 1 is shielded");
	shield_cpus(PROCS, CPU(0) | CPU(1));
	expect_affinity(pid, CPU(0) | CPU(1), "none is left outside the partition");
	shield_cpus(PROCS, CPU(1));
	write_group(GROUP "/cpuset.cpus.partition", "member");
	expect_affinity(pid, CPU(0) | CPU(2), "no partition any more");
	shield_cpus(PROCS, 0);
	expect_affinity(pid, ALL, "neither partition nor shield any more");
	leave_group();
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST(shielded_cpu_goes_and_comes_back),
		TEST(running_task_that_had_it_alone),
		TEST(last_unshielded_cpu_goes_and_comes_back),
		TEST(in_a_cpuset),
		TEST(cpuset_of_shielded_cpus),
		TEST(delegated_cpuset),
		TEST(isolated_partition),
	};
	int ret = run_tests(argc, argv, tests, ARRAY_SIZE(tests), TESTS_KEEP_SWITCH);

	file_write(PROCS, "\n");
	return ret;
}
