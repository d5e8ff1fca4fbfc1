// SPDX-License-Identifier: LGPL-2.1-or-later
/* counter.c - the CPU's counter, disciplined against CLOCK_MONOTONIC */
#include <platform.h>

#include "counter.h"

#define CALIBRATION	2000000		/* ns */
#define BASE_MIN	1000000		/* a shorter base does not improve the speed */
#define BASE_MAX	1000000000

static struct anchor anchor_take(void)
{
	struct anchor best = { 0 }, anchor;
	uint64_t took, least = UINT64_MAX;

	/* the quickest of some reads: not interrupted between counter and clock */
	for (int i = 0; i < 8; i++) {
		anchor.counter = pf_counter();
		anchor.clock = pf_mono();
		took = pf_counter() - anchor.counter;
		if (took < least) {
			least = took;
			best = anchor;
		}
	}
	return best;
}

static uint64_t speed(const struct anchor *from, const struct anchor *to)
{
	return ((unsigned __int128)(to->counter - from->counter) << 32) /
	       (uint64_t)(to->clock - from->clock);
}

bool counter_init(struct counter *counter)
{
	struct anchor first = anchor_take(), last;

	do {
		last.clock = pf_mono();
	} while (last.clock - first.clock < CALIBRATION);
	last = anchor_take();
	if (last.counter <= first.counter)
		return false;
	counter->ticks_per_ns = speed(&first, &last);
	counter->now = last;
	counter->base = first;
	counter->next_base = last;
	counter->lead = 0;
	counter->aims = 0;
	counter->faults = 0;
	/* slower than one tick in a microsecond is of no use */
	return counter->ticks_per_ns > (1ull << 32) / 1000;
}

static bool plausible(const struct counter *counter, uint64_t ticks_per_ns)
{
	/* CLOCK_MONOTONIC may be slewed by 10 % at most */
	return ticks_per_ns > counter->ticks_per_ns / 8 * 7 &&
	       ticks_per_ns < counter->ticks_per_ns / 7 * 8;
}

bool counter_discipline(struct counter *counter)
{
	struct anchor anchor = counter->now;
	uint64_t ticks_per_ns;

	if (anchor.clock - counter->base.clock < BASE_MIN)
		return true;

	ticks_per_ns = speed(&counter->base, &anchor);
	if (!plausible(counter, ticks_per_ns)) {
		counter->base = anchor;
		counter->next_base = anchor;
		counter->faults++;
		return false;
	}
	counter->ticks_per_ns = ticks_per_ns;
	counter->faults = 0;
	if (anchor.clock - counter->next_base.clock > BASE_MAX) {
		counter->base = counter->next_base;
		counter->next_base = anchor;
	}
	return true;
}

uint64_t counter_hz(const struct counter *counter)
{
	return ((unsigned __int128)counter->ticks_per_ns * NSEC_PER_SEC) >> 32;
}
