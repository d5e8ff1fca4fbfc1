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
#include "lib/file.h"
#include "lib/scene.h"
#include "lib/shield.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMERFDS 3000u
#define SLEEPERS 300u
#define ROUNDS 20
/* A few services of other timers, one of which may just have begun. */
#define TOLERANCE (5 * USEC)

struct burst {
	u64 start;
	u64 step;
};

static void arm_burst(void *argument)
{
	struct rlimit limit = { .rlim_cur = TIMERFDS + 64, .rlim_max = TIMERFDS + 64 };
	struct burst *burst = argument;

	require(!setrlimit(RLIMIT_NOFILE, &limit), "setrlimit: %s", strerror(errno));
	for (unsigned int i = 0; i < TIMERFDS; i++) {
		struct itimerspec setting = {
			.it_value = to_timespec(burst->start + i * burst->step),
		};
		int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

		require(fd >= 0 && !timerfd_settime(fd, TFD_TIMER_ABSTIME, &setting, NULL),
			"timerfd %u: %s", i, strerror(errno));
	}
	pause();
}

static void sleep_in_burst(void *argument)
{
	sleep_until(*(u64 *)argument);
}

/* The worst lateness of a FIFO-90 task that wakes up 20 times from START on. */
static u64 lateness_from(u64 start, u64 period)
{
	u64 worst = 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		u64 due = start + i * period;
		u64 late;

		sleep_until(due);
		late = now() - due;
		if (late > worst)
			worst = late;
	}
	return worst;
}

/* Without the burst: the best of three, since what went before may echo. */
static u64 lateness_alone(u64 period)
{
	u64 best = UINT64_MAX;

	for (int i = 0; i < 3; i++) {
		u64 worst = lateness_from(now() + 100 * MSEC, period);

		if (worst < best)
			best = worst;
	}
	return best;
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

static void check_lateness(u64 alone, u64 late, unsigned int before, const char *load)
{
	note("%s: %llu ns late at worst, %llu alone; %u hangs", load, (unsigned long long)late,
	     (unsigned long long)alone, hangs() - before);
	check(late <= alone + TOLERANCE, "%s: %llu ns late at worst, %llu alone", load,
	      (unsigned long long)late, (unsigned long long)alone);
}

/* One unprivileged process, 3,000 timerfds in 0.6 ms. */
static void unprivileged_timerfds(void)
{
	struct burst *burst = shared_memory(sizeof(*burst));
	unsigned int before;
	u64 alone, late;

	pin(test_cpu);
	become(FIFO(90));
	/* Before there are many timers: printing them is quadratic. */
	before = hangs();
	alone = lateness_alone(100 * USEC);
	burst->start = now() + 300 * MSEC;
	burst->step = 200;
	await_sleep(spawn(OTHER, test_cpu, arm_burst, burst));
	require(now() < burst->start, "the burst was armed too late");
	late = lateness_from(burst->start + 50 * USEC, 100 * USEC);
	check_lateness(alone, late, before, "3000 timerfds in 0.6 ms");
}

/* The same by tasks that sleep, which PREEMPT_RT wakes in the interrupt too. */
static void low_priority_sleepers(void)
{
	u64 *times = shared_memory(SLEEPERS * sizeof(*times));
	u64 start, alone, late;
	unsigned int before;

	pin(test_cpu);
	become(FIFO(90));
	before = hangs();
	alone = lateness_alone(50 * USEC);
	start = now() + 300 * MSEC;
	for (unsigned int i = 0; i < SLEEPERS; i++) {
		times[i] = start + i * 200;
		spawn(FIFO(5), test_cpu, sleep_in_burst, &times[i]);
	}
	late = lateness_from(start + 30 * USEC, 50 * USEC);
	check_lateness(alone, late, before, "300 sleepers in 60 us");
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST(unprivileged_timerfds),
		TEST(low_priority_sleepers),
	};

	return run_tests(argc, argv, tests, ARRAY_SIZE(tests), 0);
}
