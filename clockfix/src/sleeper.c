// SPDX-License-Identifier: LGPL-2.1-or-later
/* sleeper.c - wait in a thread of the caller's own */
#include <pthread.h>
#include <sys/prctl.h>

#include <platform.h>

#include "timer.h"

struct clockfix_sleeper {
	struct waiter waiter;
	struct tai tai;
	struct stats stats;
};

int clockfix_sleeper_create(struct clockfix_sleeper **result,
			    const struct clockfix_options *given)
{
	struct clockfix_sleeper *sleeper;
	struct clockfix_options options;
	int ret;

	if (!result)
		return -EINVAL;
	ret = options_get(&options, given);
	if (ret)
		return ret;
	if (options.cpu != -1 || options.policy || options.cpu_latency_us != -1 ||
	    options.flags & CLOCKFIX_LOCK_MEMORY)
		return -EINVAL;
	sleeper = calloc(1, sizeof(*sleeper));
	if (!sleeper)
		return -ENOMEM;
	ret = waiter_init(&sleeper->waiter, &options, &sleeper->stats);
	if (ret) {
		free(sleeper);
		return ret;
	}
	*result = sleeper;
	return 0;
}

void clockfix_sleeper_destroy(struct clockfix_sleeper *sleeper)
{
	free(sleeper);
}

static int wait_for(struct clockfix_sleeper *sleeper, int64_t mono)
{
	int ret = waiter_approach(&sleeper->waiter, mono, NULL, 0);

	return ret ? ret : waiter_arrive(&sleeper->waiter, mono, NULL, 0);
}

/* The distance of the clocks is read anew each time, and once more at the end. */
static int sleep_until_tai(struct clockfix_sleeper *sleeper, int64_t instant)
{
	int64_t mono;
	int ret;

	do {
		tai_update(&sleeper->tai);
		mono = tai_to_mono(&sleeper->tai, instant);
		ret = wait_for(sleeper, mono);
		if (ret)
			return ret;
	} while (pf_clock(CLOCK_TAI) < instant);
	waiter_ran(&sleeper->waiter, mono);
	return 0;
}

int clockfix_sleep_until(struct clockfix_sleeper *sleeper, clockid_t clock, int64_t instant)
{
	int ret;

	if (!sleeper || (clock != CLOCK_MONOTONIC && clock != CLOCK_TAI) || instant < 0)
		return -EINVAL;
	prctl(PR_SET_TIMERSLACK, 1UL);
	if (clock == CLOCK_TAI)
		return sleep_until_tai(sleeper, instant);
	ret = wait_for(sleeper, instant);
	if (ret)
		return ret;
	waiter_ran(&sleeper->waiter, instant);
	return 0;
}

int clockfix_sleeper_stats_read(struct clockfix_sleeper *sleeper, struct clockfix_stats *stats)
{
	int ret;

	if (!sleeper)
		return -EINVAL;
	ret = stats_copy(&sleeper->stats, stats);
	if (!ret)
		stats->tai_steps = atomic_load(&sleeper->tai.steps);
	return ret;
}
