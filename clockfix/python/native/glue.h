/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* glue.h - between the worker's thread and Python */
#include <errno.h>
#include <time.h>

#include <clockfix.h>

/* Python's; cffi takes the GIL for them. */
static void native_attach(void);
static void native_run(uintptr_t key, clockfix_job job, int64_t instant, int64_t started,
		       uint64_t index, uint64_t missed);

/* the worker's: how long before its instants it asks for the GIL */
static __thread int64_t lead;

static void native_set_up(void *arg, const struct clockfix_run *run)
{
	(void)run;
	lead = *(const int64_t *)arg;
	/* from now on Python's state of this thread is kept until the thread ends */
	native_attach();
}

static int native_begin(struct clockfix *timer, int64_t wanted)
{
	int ret = clockfix_submit(timer, clockfix_now(CLOCK_MONOTONIC), native_set_up, &wanted,
				  NULL);

	return ret ? ret : clockfix_drain(timer);
}

static void native_job(void *key, const struct clockfix_run *run)
{
	int64_t instant = run->instant + lead;
	PyGILState_STATE state = 0;

	if (lead) {
		state = PyGILState_Ensure();
		while (clockfix_now(CLOCK_MONOTONIC) < instant)
			;
	}
	native_run((uintptr_t)key, run->job, instant, run->started, run->index, run->missed);
	if (lead)
		PyGILState_Release(state);
}

static int native_schedule(struct clockfix *timer, int64_t start, int64_t period, int missed,
			   int64_t ahead, uintptr_t key, clockfix_job *job)
{
	struct clockfix_spec spec;

	if (start < 0 || start == INT64_MAX)
		return -EINVAL;
	clockfix_spec_init(&spec);
	spec.start = start > ahead ? start - ahead : 0;
	spec.period = period;
	spec.missed = missed;
	spec.fn = native_job;
	spec.arg = (void *)key;
	return clockfix_schedule(timer, &spec, job);
}
