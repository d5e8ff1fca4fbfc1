// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "timing.h"
#include "clock.h"

#include <clockfix.h>
#include <sys/prctl.h>

const char *const timing_names[TIMING_KINDS] = { "nanosleep", "clockfix", "poll" };

int timing_open(struct timing *timing, enum timing_kind kind)
{
	*timing = (struct timing){ .kind = kind };
	prctl(PR_SET_TIMERSLACK, 1UL);
	if (kind == TIMING_CLOCKFIX)
		return clockfix_sleeper_create(&timing->sleeper, NULL);
	return 0;
}

void timing_wait(struct timing *timing, int64_t instant)
{
	switch (timing->kind) {
	case TIMING_NANOSLEEP:
		sleep_until(instant);
		break;
	case TIMING_CLOCKFIX:
		while (clockfix_sleep_until(timing->sleeper, CLOCK_MONOTONIC, instant))
			;
		break;
	default:
		while (clock_ns() < instant)
			;
	}
}

void timing_close(struct timing *timing)
{
	clockfix_sleeper_destroy(timing->sleeper);
	timing->sleeper = NULL;
}
