// SPDX-License-Identifier: LGPL-2.1-or-later
/* sleeper.c - wait in a thread of the caller's own */
#include <errno.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <platform.h>

#include "clock.h"
#include "module.h"
#include "options.h"
#include "wait.h"

#define WAYS_BACK	32

struct clockfix_sleeper {
	struct waiter waiter;
	struct clockfix_stats stats;
	int64_t ended;		/* instant of the last wait, of which the bookkeeping is left; or -1 */
	struct module module;	/* of the caller */
	int fd;			/* timerfd for event loops, or -1 */
	int64_t instant;	/* what that is armed for */
	bool planned;		/* false: it was too late to */
};

/* ---- waiting ---------------------------------------------------------------------------- */

/* Nothing is done between the instant and the return: statistics and decay wait until now. */
static void settle(struct clockfix_sleeper *sleeper)
{
	if (sleeper->ended < 0)
		return;
	waiter_ran(&sleeper->waiter, sleeper->ended);
	sleeper->ended = -1;
}

static int wait_for(struct clockfix_sleeper *sleeper, int64_t mono, const char *caller)
{
	int ret;

	if (!module_has(&sleeper->module, (uintptr_t)caller))
		sleeper->module = module_of((uintptr_t)caller);
	ret = waiter_approach(&sleeper->waiter, mono, NULL, 0);
	if (ret)
		return ret;
	module_fetch(&sleeper->module);
	/* the caller's code, which the sleep may have pushed out of the caches */
	__builtin_prefetch(caller);
	__builtin_prefetch(caller + 64);
	sleeper->ended = mono;
	return waiter_arrive(&sleeper->waiter, mono, NULL, 0);
}

/*
 * The sleep is one of that clock's own, which the kernel ends earlier or later if the clock is set; a
 * device has none. *@mono is what its distance makes of the instant, before and afterwards.
 */
static int approach_by(struct waiter *waiter, clockid_t clock, int64_t instant, int64_t *mono)
{
	int64_t before = *mono, now = pf_mono(), until = waiter_plan(waiter, before, now), offset;
	int ret;

	if (until) {
		ret = clock < 0 ? pf_sleep(CLOCK_MONOTONIC, until) :
		      pf_sleep(clock, until + instant - before);
		if (ret)
			return ret;
		if (clock >= 0 && !clock_offset(clock, &offset)) {
			*mono = instant - offset;
			waiter->until += *mono - before;
		}
		now = waiter_woke(waiter, *mono);
	}
	return waiter_near(waiter, *mono, now, NULL, 0);
}

/*
 * By another clock. Its distance may change while it sleeps, as it is set or runs at another
 * speed: it is measured before and after the sleep, and once more if the instant has not come.
 */
static int wait_by(struct clockfix_sleeper *sleeper, clockid_t clock, int64_t instant,
		   const char *caller)
{
	int64_t mono, offset, left, took;
	int ret;

	do {
		took = clock_look(clock, instant, &mono);
		if (took < 0)
			return -EINVAL;
		ret = approach_by(&sleeper->waiter, clock, instant, &mono);
		if (ret)
			return ret;
		left = instant - pf_clock(clock);
		if (left > STRETCH + 2 * took)
			continue;
		if (clock_offset(clock, &offset))
			return -EINVAL;
		ret = wait_for(sleeper, instant - offset, caller);
		if (ret)
			return ret;
		do {
			left = instant - pf_clock(clock);
		} while (left > 0 && left <= STRETCH);
	} while (left > 0);
	return 0;
}

static pthread_once_t own_once = PTHREAD_ONCE_INIT;
static pthread_key_t own_key;
static bool own_ready;

static void own_end(void *sleeper)
{
	clockfix_sleeper_destroy(sleeper);
}

static void own_init(void)
{
	own_ready = !pthread_key_create(&own_key, own_end);
}

/* The calling thread's own sleeper, or NULL. */
static struct clockfix_sleeper *own_sleeper(void)
{
	struct clockfix_sleeper *sleeper;

	pthread_once(&own_once, own_init);
	if (!own_ready)
		return NULL;
	sleeper = pthread_getspecific(own_key);
	if (sleeper || clockfix_sleeper_create(&sleeper, NULL))
		return sleeper;
	if (!pthread_setspecific(own_key, sleeper))
		return sleeper;
	clockfix_sleeper_destroy(sleeper);
	return NULL;
}

int clockfix_sleep_until(struct clockfix_sleeper *sleeper, clockid_t clock, int64_t instant)
{
	const char *caller = __builtin_return_address(0);

	if (instant < 0)
		return -EINVAL;
	if (!sleeper)
		sleeper = own_sleeper();
	if (!sleeper)
		return -ENOMEM;
	settle(sleeper);
	prctl(PR_SET_TIMERSLACK, 1UL);
	if (clock == CLOCK_MONOTONIC)
		return wait_for(sleeper, instant, caller);
	return wait_by(sleeper, clock, instant, caller);
}

/* What it takes at least from the last read of the clock until the caller can read it. */
static int64_t way_back(struct clockfix_sleeper *sleeper)
{
	int64_t least = INT64_MAX, took;

	for (int i = 0; i < WAYS_BACK; i++) {
		wait_for(sleeper, 0, __builtin_return_address(0));
		took = pf_mono() - sleeper->waiter.started;
		if (took < least)
			least = took;
	}
	sleeper->ended = -1;
	return least;
}

/* ---- event loops ------------------------------------------------------------------------ */

int clockfix_sleeper_fd(struct clockfix_sleeper *sleeper)
{
	if (!sleeper)
		return -EINVAL;
	if (sleeper->fd < 0)
		sleeper->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return sleeper->fd < 0 ? -errno : sleeper->fd;
}

int clockfix_sleeper_arm(struct clockfix_sleeper *sleeper, int64_t instant)
{
	struct itimerspec when = { 0 };
	int ret = clockfix_sleeper_fd(sleeper);
	int64_t until;

	if (ret < 0)
		return ret;
	if (instant < 0)
		return -EINVAL;
	settle(sleeper);
	until = waiter_plan(&sleeper->waiter, instant, pf_mono());
	sleeper->instant = instant;
	sleeper->planned = until;
	/* in the past: it is readable at once */
	when.it_value.tv_sec = until / NSEC_PER_SEC;
	when.it_value.tv_nsec = until % NSEC_PER_SEC + !until;
	return timerfd_settime(sleeper->fd, TFD_TIMER_ABSTIME, &when, NULL) ? -errno : 0;
}

int clockfix_sleeper_finish(struct clockfix_sleeper *sleeper)
{
	uint64_t expirations;

	if (!sleeper || sleeper->fd < 0)
		return -EINVAL;
	if (read(sleeper->fd, &expirations, sizeof(expirations)) < 0)
		return -errno;
	if (!sleeper->planned)
		return clockfix_sleep_until(sleeper, CLOCK_MONOTONIC, sleeper->instant);
	/* what is left was to be polled: another sleep would be another risk */
	waiter_near(&sleeper->waiter, sleeper->instant,
		    waiter_woke(&sleeper->waiter, sleeper->instant), NULL, 0);
	waiter_arrive(&sleeper->waiter, sleeper->instant, NULL, 0);
	sleeper->ended = sleeper->instant;
	return 0;
}

/* ---- making ----------------------------------------------------------------------------- */

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
	if (options.cpu != -1 || options.policy)
		return -EINVAL;
	sleeper = calloc(1, sizeof(*sleeper));
	if (!sleeper)
		return -ENOMEM;
	waiter_init(&sleeper->waiter, &options, &sleeper->stats);
	sleeper->fd = -1;
	sleeper->waiter.way_back = way_back(sleeper);
	*result = sleeper;
	return 0;
}

void clockfix_sleeper_destroy(struct clockfix_sleeper *sleeper)
{
	if (sleeper && sleeper->fd >= 0)
		close(sleeper->fd);
	free(sleeper);
}

int clockfix_sleeper_stats_read(struct clockfix_sleeper *sleeper, struct clockfix_stats *stats)
{
	struct clockfix_stats own;

	if (!sleeper)
		return -EINVAL;
	settle(sleeper);
	stats_copy(&sleeper->stats, &own);
	return sized_return(stats, &own, sizeof(own));
}
