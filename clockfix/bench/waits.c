// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * waits.c - the rivals' ways to wait
 *
 * In a library of their own: no rival's loop keeps the code warm that measures.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "waits.h"

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static struct timespec to_timespec(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
}

void wait_poll(int64_t instant, struct clockfix_sleeper *sleeper)
{
	while (now_ns() < instant)
		;
}

void wait_clock_nanosleep(int64_t instant, struct clockfix_sleeper *sleeper)
{
	struct timespec ts = to_timespec(instant);

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

void wait_nanosleep(int64_t instant, struct clockfix_sleeper *sleeper)
{
	int64_t left = instant - now_ns();
	struct timespec ts = to_timespec(left > 0 ? left : 0);

	nanosleep(&ts, NULL);
}

void wait_futex(int64_t instant, struct clockfix_sleeper *sleeper)
{
	static uint32_t word;
	struct timespec ts = to_timespec(instant);

	syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, &ts, NULL,
		FUTEX_BITSET_MATCH_ANY);
}

void wait_margin(int64_t instant, struct clockfix_sleeper *sleeper)
{
	if (now_ns() < instant - 60000)
		wait_clock_nanosleep(instant - 60000, sleeper);
	wait_poll(instant, sleeper);
}

void wait_sleep_until(int64_t instant, struct clockfix_sleeper *sleeper)
{
	clockfix_sleep_until(sleeper, CLOCK_MONOTONIC, instant);
}
