// SPDX-License-Identifier: LGPL-2.1-or-later
/* clock.c - where other clocks are by CLOCK_MONOTONIC */
#include <platform.h>

#include "clock.h"

#define DRIFT	1024	/* a device's clock may run faster by that part */

int clock_offset(clockid_t clock, int64_t *offset)
{
	int64_t least = INT64_MAX;

	if (pf_clock(clock) == -EINVAL)
		return -EINVAL;

	/* the quickest of some reads; CLOCK_MONOTONIC in the middle */
	for (int i = 0; i < 5; i++) {
		int64_t before = pf_clock(clock), mono = pf_mono();
		int64_t after = pf_clock(clock);

		if (after >= before && after - before < least) {
			least = after - before;
			*offset = before + least / 2 - mono;
		}
	}
	return least == INT64_MAX ? -EINVAL : 0;
}

int64_t clock_look(clockid_t clock, int64_t instant, int64_t *mono)
{
	int64_t start = pf_mono(), offset, now, took;

	if (clock_offset(clock, &offset))
		return -EINVAL;
	*mono = instant - offset;
	now = pf_mono();
	took = now - start;
	if (clock < 0 && *mono > now)
		*mono -= took + (*mono - now) / DRIFT;
	return took;
}
