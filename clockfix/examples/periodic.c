// SPDX-License-Identifier: LGPL-2.1-or-later
/* periodic.c - a control loop of 1 kHz on the last CPU, real-time if it is permitted */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <clockfix.h>

struct loop {
	struct clockfix_histogram late;		/* of this job alone */
	uint64_t missed;
};

static void control(void *arg, const struct clockfix_run *run)
{
	struct loop *loop = arg;

	/* read sensors, compute, drive actuators */
	clockfix_histogram_add(&loop->late, run->started - run->instant);
	loop->missed += run->missed;
}

int main(void)
{
	struct clockfix_options options;
	struct clockfix_spec spec;
	static struct loop loop;
	struct clockfix *timer;
	int ret;

	clockfix_options_init(&options);
	options.cpu = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	options.policy = SCHED_FIFO;
	options.priority = 80;
	ret = clockfix_create(&timer, &options);
	if (ret == -EPERM) {
		fprintf(stderr, "periodic: running without SCHED_FIFO, which is not permitted\n");
		options.policy = SCHED_OTHER;
		options.priority = 0;
		ret = clockfix_create(&timer, &options);
	}
	if (ret) {
		fprintf(stderr, "periodic: no timer: %s\n", strerror(-ret));
		return 1;
	}
	clockfix_spec_init(&spec);
	spec.start = clockfix_now(CLOCK_MONOTONIC) + 10000000;
	spec.period = 1000000;
	spec.runs = 1000;
	spec.fn = control;
	spec.arg = &loop;
	ret = clockfix_schedule(timer, &spec, NULL);
	if (!ret)
		ret = clockfix_drain(timer);
	printf("%" PRIu64 " steps, %" PRIu64 " missed; started late by (median, 99 %%, max): "
	       "%" PRId64 ", %" PRId64 ", %" PRId64 " ns\n", loop.late.count, loop.missed,
	       clockfix_histogram_quantile(&loop.late, 0.5),
	       clockfix_histogram_quantile(&loop.late, 0.99), loop.late.max);
	clockfix_destroy(timer, 0);
	return ret ? 1 : 0;
}
