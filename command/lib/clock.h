/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CLOCK_MONOTONIC, in ns. */
#ifndef TIMERSHIELD_CLOCK_H
#define TIMERSHIELD_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t monotonic_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* 0, or EINTR when a signal came before. */
static inline int monotonic_sleep_until(uint64_t time)
{
	struct timespec until = {
		.tv_sec = (time_t)(time / 1000000000), .tv_nsec = (long)(time % 1000000000),
	};

	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

#endif
