/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runs.h - a timer on the simulated machine, and jobs that note when they ran */
#ifndef SIM_RUNS_H
#define SIM_RUNS_H

#include <string.h>

#include "check.h"
#include "sim/turn.h"

#define RUNS 4096

static struct clockfix *timer;
static struct {
	intptr_t who;
	struct clockfix_run run;
	int64_t now;
} ran[RUNS];
static unsigned int runs;
static int64_t job_takes, next_oversleep;

static inline int64_t inject(void)
{
	return next_oversleep;
}

static inline void job(void *arg, const struct clockfix_run *run)
{
	if (runs < RUNS) {
		ran[runs].who = (intptr_t)arg;
		ran[runs].run = *run;
		ran[runs].now = sim.now;
		runs++;
	}
	sim.now += job_takes;
}

static inline void setup_with(const struct clockfix_options *options)
{
	sim_reset();
	sim.oversleep = inject;
	next_oversleep = 5000;
	job_takes = 100;
	runs = 0;
	timer = sim_timer(options);
	CHECK(timer);
}

static inline void setup(void)
{
	setup_with(NULL);
}

static inline void teardown(void)
{
	sim_timer_free(timer);
	CHECK_EQ(sim.allocated, 0);
}

static inline clockfix_job submit(int64_t instant, intptr_t who)
{
	clockfix_job handle = 0;

	CHECK_EQ(clockfix_submit(timer, instant, job, (void *)who, &handle), 0);
	CHECK(handle != 0);
	return handle;
}

static inline struct clockfix_spec periodic(int64_t start, int64_t period, uint64_t count)
{
	struct clockfix_spec spec;

	clockfix_spec_init(&spec);
	spec.start = start;
	spec.period = period;
	spec.runs = count;
	spec.fn = job;
	return spec;
}

static inline struct clockfix_stats stats(void)
{
	static struct clockfix_stats s;

	s.size = sizeof(s);
	CHECK_EQ(clockfix_stats_read(timer, &s), 0);
	return s;
}

#endif
