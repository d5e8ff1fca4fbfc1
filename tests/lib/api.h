/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every system call with which a task waits for a timer of its own. */
#ifndef TESTS_API_H
#define TESTS_API_H

#include "tap.h"

#include <time.h>

struct api {
	const char *name;
	/*
	 * Arms a timer for EXPIRY (CLOCK_MONOTONIC, ns) or as soon after it as
	 * the call's unit allows, stores when it is due and waits for it.
	 * Returns 0, or -errno if it ended otherwise than by the timer.
	 */
	int (*wait)(const struct api *api, u64 expiry, u64 *due);
	clockid_t clock;
	int notify;			/* SIGEV_*, of POSIX timers */
	int (*by)(int fd);		/* of polled_apis[] */
};

extern const struct api apis[];
extern const unsigned int api_count;

/* Waits for a timerfd that wait for other things, too; like the entries of apis[]. */
extern const struct api polled_apis[];
extern const unsigned int polled_api_count;

/* Windows' way to wait for several objects; on Linux 6.14 and later, if built in */
extern const struct api ntsync_api;

/* The entry of that name; the test fails if there is none. */
const struct api *api_find(const char *name);

#endif
