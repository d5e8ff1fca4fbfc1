// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "isolation.h"
#include "file.h"
#include "task.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int try_affinity(pid_t pid, cpus_t cpus)
{
	return syscall(SYS_sched_setaffinity, pid, sizeof(cpus), &cpus) ? -errno : 0;
}

void set_affinity(pid_t pid, cpus_t cpus)
{
	int ret = try_affinity(pid, cpus);

	require(!ret, "sched_setaffinity(%d, %#llx): %s", pid, cpus, strerror(-ret));
}

cpus_t affinity(pid_t pid)
{
	cpus_t cpus = 0;

	require(syscall(SYS_sched_getaffinity, pid, sizeof(cpus), &cpus) > 0,
		"sched_getaffinity(%d): %m", pid);
	return cpus;
}

void expect_affinity(pid_t pid, cpus_t cpus, const char *when)
{
	cpus_t is = affinity(pid);

	check(is == cpus, "%s: may run on CPUs %#llx, not on %#llx", when, is, cpus);
}

static pid_t start(void (*function)(void *), void *argument)
{
	pid_t pid = fork();

	require(pid >= 0, "fork: %m");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		function(argument);
		_exit(0);
	}
	return pid;
}

static void wait_for_ever(void *unused)
{
	for (;;)
		pause();
}

int tell_policy(void)
{
	struct sched_param param;
	char slack[32];

	sched_getparam(0, &param);
	file_read("/proc/self/timerslack_ns", slack, sizeof(slack));
	printf("cpus %llx policy %d priority %d slack %s", affinity(0), sched_getscheduler(0),
	       param.sched_priority, slack);
	return 0;
}

pid_t start_waiter(void)
{
	return start(wait_for_ever, NULL);
}

static void spin(void *argument)
{
	u64 *seen = argument;

	for (;;) {
		__atomic_fetch_add(&seen[sched_getcpu()], 1, __ATOMIC_RELAXED);
		let_other_cpus_run(now());
	}
}

struct spinner start_spinner(void)
{
	struct spinner spinner = { .seen = shared_memory(64 * sizeof(u64)) };

	spinner.pid = start(spin, spinner.seen);
	return spinner;
}

cpus_t spinner_watch(const struct spinner *spinner, u64 duration)
{
	u64 before[64], limit = now() + 10 * SEC;
	cpus_t cpus = 0;

	for (int cpu = 0; cpu < 64; cpu++)
		before[cpu] = __atomic_load_n(&spinner->seen[cpu], __ATOMIC_RELAXED);
	do {
		sleep_for(duration);
		for (int cpu = 0; cpu < 64; cpu++)
			/* Once may be where it looked before, and counts only now */
			if (__atomic_load_n(&spinner->seen[cpu], __ATOMIC_RELAXED) >
			    before[cpu] + 1)
				cpus |= CPU(cpu);
	} while (!cpus && now() < limit);
	return cpus;
}

void prepare_cpus(void)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 3)
		skip("needs three CPUs");
	unisolate("");
	set_affinity(0, ALL_CPUS);
}

void prepare_tasks(struct snapshot *before)
{
	prepare_cpus();
	/* One that CPU 1 leaves, and another one. */
	set_affinity(start_waiter(), CPU(1) | CPU(2));
	set_affinity(start_waiter(), CPU(0) | CPU(1));
	set_affinity(start_waiter(), ALL_CPUS);
	snapshot_take(before);
}

void isolate(const char *words)
{
	check_status(timershield("isolate %s", words), 0);
}

void unisolate(const char *words)
{
	check_status(timershield("unisolate %s", words), 0);
}
