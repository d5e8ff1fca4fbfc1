// SPDX-License-Identifier: GPL-2.0-only
/*
 * While a SCHED_FIFO task runs, timers of ordinary tasks do not interrupt its
 * CPU: they are masked, and none is lost or early.
 *
 * Needs root, and kernel.timershield.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest.h"

#define SWITCH		"/proc/sys/kernel/timershield"
#define TIMER_LIST	"/proc/timer_list"
#define NSEC_PER_SEC	1000000000ULL
#define NSEC_PER_MSEC	1000000ULL

#define TIMERS		100
#define STEP		(100 * 1000ULL)		/* ns from one to the next */
#define AHEAD		(20 * NSEC_PER_MSEC)	/* of the first */

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * NSEC_PER_SEC + time.tv_nsec;
}

static int switch_shield(bool on)
{
	FILE *file = fopen(SWITCH, "w");
	int ret;

	if (!file)
		return -errno;
	ret = fputs(on ? "1\n" : "0\n", file) < 0 ? -errno : 0;
	if (fclose(file) && !ret)
		ret = -errno;
	return ret;
}

/* How many timer interrupts @cpu has had; -1: unknown */
static long long interrupts(int cpu)
{
	FILE *file = fopen(TIMER_LIST, "r");
	long long count, found = -1;
	char line[256];
	int number = -1;

	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "cpu: %d", &number) == 1)
			continue;
		if (number == cpu && sscanf(line, " .nr_events : %lld", &count) == 1)
			found = count;
	}
	fclose(file);
	return found;
}

static int become(int policy, int priority)
{
	struct sched_param param = { .sched_priority = priority };

	return sched_setscheduler(0, policy, &param);
}

static void arm(int fd, uint64_t expiry)
{
	struct itimerspec setting = {
		.it_value.tv_sec = expiry / NSEC_PER_SEC,
		.it_value.tv_nsec = expiry % NSEC_PER_SEC,
	};

	if (timerfd_settime(fd, TFD_TIMER_ABSTIME, &setting, NULL))
		ksft_exit_fail_perror("timerfd_settime");
}

/* Arm as an ordinary task, then spin over all expiries as a real-time one; the interrupts */
static long long play(const int *fds, int cpu)
{
	uint64_t first = now() + AHEAD, end = first + TIMERS * STEP + NSEC_PER_MSEC;
	long long before, after;
	int i;

	for (i = 0; i < TIMERS; i++)
		arm(fds[i], first + i * STEP);
	if (become(SCHED_FIFO, 90))
		ksft_exit_fail_perror("sched_setscheduler");
	before = interrupts(cpu);
	while (now() < end)
		;
	after = interrupts(cpu);
	become(SCHED_OTHER, 0);
	/* What is released in an interrupt, or on PREEMPT_RT by a thread */
	usleep(50000);
	return after - before;
}

static int expired(const int *fds)
{
	int i, count = 0;
	uint64_t ticks;

	for (i = 0; i < TIMERS; i++)
		if (read(fds[i], &ticks, sizeof(ticks)) == sizeof(ticks) && ticks == 1)
			count++;
	return count;
}

int main(void)
{
	int fds[TIMERS], i, cpu = sched_getcpu();
	struct utsname kernel;
	long long off, on;
	cpu_set_t set;

	ksft_print_header();
	if (access(SWITCH, F_OK))
		ksft_exit_skip("no " SWITCH "\n");
	if (switch_shield(true) || interrupts(cpu) < 0)
		ksft_exit_skip("needs root\n");
	if (!uname(&kernel) && strstr(kernel.version, "PREEMPT_RT"))
		ksft_exit_skip("such timers do not interrupt with PREEMPT_RT\n");
	ksft_set_plan(4);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		ksft_exit_fail_perror("sched_setaffinity");
	for (i = 0; i < TIMERS; i++) {
		fds[i] = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
		if (fds[i] < 0)
			ksft_exit_fail_perror("timerfd_create");
	}

	switch_shield(false);
	off = play(fds, cpu);
	ksft_test_result(off >= TIMERS, "off: %lld interrupts by %d timers\n", off, TIMERS);
	ksft_test_result(expired(fds) == TIMERS, "off: each timer expired once\n");

	switch_shield(true);
	on = play(fds, cpu);
	/* The tick goes on. */
	ksft_test_result(on < TIMERS / 2, "on: %lld interrupts\n", on);
	ksft_test_result(expired(fds) == TIMERS, "on: each timer expired once\n");
	ksft_finished();
}
