/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ways to wait for an instant that are compared. */
#ifndef LAB_AOI_TIMING_H
#define LAB_AOI_TIMING_H

#include <stdint.h>

enum timing_kind {
	TIMING_NANOSLEEP,	/* clock_nanosleep(), absolute, timer slack 1 ns */
	TIMING_CLOCKFIX,	/* clockfix_sleep_until() */
	TIMING_POLL,		/* nothing but looking at the clock: the limit */
	TIMING_KINDS
};

extern const char *const timing_names[TIMING_KINDS];

struct clockfix_sleeper;

struct timing {
	enum timing_kind kind;
	struct clockfix_sleeper *sleeper;
};

/* timing_open() - prepare @timing for the calling thread; 0 or -errno */
int timing_open(struct timing *timing, enum timing_kind kind);

/* timing_wait() - return when CLOCK_MONOTONIC shows @instant or more, never before */
void timing_wait(struct timing *timing, int64_t instant);

void timing_close(struct timing *timing);

#endif
