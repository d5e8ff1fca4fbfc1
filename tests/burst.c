// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A burst of hostile timers keeps the timer interrupt busy for longer than it
 * may; the kernel then programs the next event late on purpose (hang_detected).
 * A higher-ranking task's timer must not wait for that, nor for the burst.
 *
 * On a stock kernel the task is late by a good part of the burst, some hundred
 * microseconds and more; likewise with the defect "the hang delay stays in the
 * device whatever expires next" put in.
 */
#define _GNU_SOURCE
#include "lib/scene.h"
#include "lib/shield.h"
#include "lib/timers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define TIMERFDS 3000u
#define SLEEPERS 300u
#define STEP 200u		/* ns from one timer of a burst to the next */
#define BURSTS 16u
#define PERIOD (80 * MSEC)	/* from one burst to the next, ... */
#define ARM_BEFORE (50 * MSEC)	/* ... which is armed by then */
/* A few services of other timers, one of which may just have begun. */
#define TOLERANCE (5 * USEC)

struct burst {
	u64 start;		/* of the first */
	unsigned int number;	/* of a sleeper */
};

static void arm_bursts(void *argument)
{
	struct rlimit limit = { .rlim_cur = TIMERFDS + 64, .rlim_max = TIMERFDS + 64 };
	struct burst *burst = argument;
	static int fds[TIMERFDS];

	require(!setrlimit(RLIMIT_NOFILE, &limit), "setrlimit: %s", strerror(errno));
	for (unsigned int i = 0; i < TIMERFDS; i++) {
		fds[i] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		require(fds[i] >= 0, "timerfd_create: %s", strerror(errno));
	}
	for (unsigned int round = 0; round < BURSTS; round++) {
		u64 start = burst->start + round * PERIOD;

		sleep_until(start - ARM_BEFORE);
		for (unsigned int i = 0; i < TIMERFDS; i++)
			timerfd_arm(fds[i], start + i * STEP, 0);
		require(now() < start, "burst %u was armed too late", round);
	}
	pause();
}

static void sleep_in_bursts(void *argument)
{
	struct burst *burst = argument;

	for (unsigned int round = 0; round < BURSTS; round++)
		sleep_until(burst->start + round * PERIOD + burst->number * STEP);
}

static u64 lateness_of_wake(u64 due)
{
	sleep_until(due);
	return now() - due;
}

/*
 * The worst lateness of a FIFO-90 task that wakes up once in every burst, later
 * from one to the next: one of them falls into the pause if there is one.
 */
static u64 lateness_in_bursts(u64 start, u64 length)
{
	u64 worst = 0;

	for (unsigned int round = 0; round < BURSTS; round++) {
		u64 late = lateness_of_wake(start + round * PERIOD +
					    (round + 1) * length / BURSTS);

		if (late > worst)
			worst = late;
	}
	return worst;
}

/* Without bursts. */
static u64 lateness_alone(void)
{
	return lateness_in_bursts(now() + PERIOD, 1 * MSEC);
}

static unsigned int hangs(void)
{
	FILE *list = fopen("/proc/timer_list", "re");
	unsigned int count = 0;
	char line[256];
	char *at;

	while (list && fgets(line, sizeof(line), list)) {
		at = strstr(line, ".nr_hangs");
		at = at ? strchr(at, ':') : NULL;
		if (at)
			count += atoi(at + 1);
	}
	if (list)
		fclose(list);
	return count;
}

/* The kernel reports it once, from the interrupt: 7 us, and the time that a console takes. */
static bool reported_before;

static bool hang_is_reported(void)
{
	static char log[1 << 18];
	int length = klogctl(3, log, sizeof(log) - 1);	/* SYSLOG_ACTION_READ_ALL */

	require(length > 0, "klogctl: %s", strerror(errno));
	log[length] = '\0';
	return strstr(log, "hrtimer: interrupt took");
}

static void check_lateness(u64 alone, u64 late, unsigned int before, const char *load)
{
	note("%s: %llu ns late at worst, %llu alone; %u hangs", load, late, alone,
	     hangs() - before);
	check(late <= alone + TOLERANCE, "%s: %llu ns late at worst, %llu alone", load, late,
	      alone);
	check(reported_before || !hang_is_reported(), "the interrupt wrote a message");
}

/* One unprivileged process, 3,000 timerfds in 0.6 ms. */
TEST(unprivileged_timerfds)
{
	struct burst *burst = shared_memory(sizeof(*burst));
	unsigned int before;
	u64 alone, late;

	pin(test_cpu);
	become(FIFO(90));
	/* Before there are many timers: printing them is quadratic. */
	before = hangs();
	alone = lateness_alone();
	burst->start = now() + 300 * MSEC;
	spawn(OTHER, test_cpu, arm_bursts, burst);
	late = lateness_in_bursts(burst->start, 2 * MSEC);
	check_lateness(alone, late, before, "3000 timerfds in 0.6 ms");
}

/* The same by tasks that sleep, which PREEMPT_RT wakes in the interrupt too. */
TEST(low_priority_sleepers)
{
	struct burst *bursts = shared_memory(SLEEPERS * sizeof(*bursts));
	u64 start, alone, late;
	unsigned int before;

	pin(test_cpu);
	become(FIFO(90));
	before = hangs();
	alone = lateness_alone();
	start = now() + 400 * MSEC;
	for (unsigned int i = 0; i < SLEEPERS; i++) {
		bursts[i] = (struct burst){ .start = start, .number = i };
		spawn(FIFO(5), test_cpu, sleep_in_bursts, &bursts[i]);
	}
	require(now() < start, "the sleepers were started too late");
	late = lateness_in_bursts(start, 400 * USEC);
	check_lateness(alone, late, before, "300 sleepers in 60 us");
}

int main(int argc, char **argv)
{
	reported_before = hang_is_reported();
	return run_tests(argc, argv, 0);
}
