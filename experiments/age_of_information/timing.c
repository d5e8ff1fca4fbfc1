// SPDX-License-Identifier: GPL-2.0-or-later
/* Three ways to wait for an instant. */
#include "aoi.h"
#include "clock.h"

#include <clockfix.h>

int timing_open(struct timing *timing, enum timing_kind kind)
{
	*timing = (struct timing){ .kind = kind };
	return kind == TIMING_CLOCKFIX ? clockfix_sleeper_create(&timing->sleeper, NULL) : 0;
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
