/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* waiter.h - a waiter on the simulated machine, whose oversleeps are injected */
#ifndef SIM_WAITER_H
#define SIM_WAITER_H

#include <string.h>

#include <platform.h>

#include "check.h"
#include "wait.h"

#define CLOCK 12	/* ns from the begin of a read of the clock to its value */

static struct waiter waiter;
static struct clockfix_stats stats;
static struct wake wake;
static int64_t next_oversleep;
static uint64_t rng;

static inline int64_t inject(void)
{
	return next_oversleep;
}

/* before setup: the options that are not 0 */
static uint32_t late_ppm, cpu_ppm, estimator;

static inline void setup(void)
{
	struct clockfix_options options;

	clockfix_options_init(&options);
	options.late_ppm = late_ppm;
	options.cpu_ppm = cpu_ppm;
	options.estimator = estimator;
	memset(&stats, 0, sizeof(stats));
	memset(&wake, 0, sizeof(wake));
	sim_reset();
	sim.oversleep = inject;
	next_oversleep = 0;
	rng = 99;
	waiter_init(&waiter, &options, &stats);
}

static inline int arrive_at(int64_t instant)
{
	uint32_t count = atomic_load(&wake.count);
	int ret = waiter_approach(&waiter, instant, &wake, count);

	if (!ret)
		ret = waiter_arrive(&waiter, instant, &wake, count);
	return ret;
}

/* Wait for a job that is @length ns away; returns how late it is. */
static inline int64_t job(int64_t length)
{
	int64_t instant = sim.now + length, late;

	CHECK_EQ(arrive_at(instant), 0);
	CHECK(waiter.started >= instant);
	CHECK(sim.now >= instant);
	late = waiter.started - instant;
	sim_event();
	sim.now += 100;		/* the job */
	waiter_ran(&waiter, instant);
	return late;
}

/* What is learned of sleeps that all end @oversleep late is a margin of that much. */
static inline void teach(int64_t oversleep)
{
	for (int i = 0; i < 100; i++) {
		for (int64_t length = 20000; length < 100000000; length *= 4)
			estimator_learn(&waiter.est, oversleep, length);
	}
}

static inline int64_t cost(void)
{
	return waiter.cost / 8;
}

#endif
