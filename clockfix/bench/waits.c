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

void wait_poll(int64_t instant, struct wait_state *state)
{
	while (now_ns() < instant)
		;
}

void wait_clock_nanosleep(int64_t instant, struct wait_state *state)
{
	struct timespec ts = to_timespec(instant);

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

void wait_nanosleep(int64_t instant, struct wait_state *state)
{
	int64_t left = instant - now_ns();
	struct timespec ts = to_timespec(left > 0 ? left : 0);

	nanosleep(&ts, NULL);
}

void wait_futex(int64_t instant, struct wait_state *state)
{
	static uint32_t word;
	struct timespec ts = to_timespec(instant);

	syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, &ts, NULL,
		FUTEX_BITSET_MATCH_ANY);
}

void wait_margin(int64_t instant, struct wait_state *state)
{
	if (now_ns() < instant - 60000)
		wait_clock_nanosleep(instant - 60000, state);
	wait_poll(instant, state);
}

void wait_sleep_until(int64_t instant, struct wait_state *state)
{
	clockfix_sleep_until(state->sleeper, CLOCK_MONOTONIC, instant);
}
