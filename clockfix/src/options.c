// SPDX-License-Identifier: LGPL-2.1-or-later
/* options.c - check what users hand in, whatever version they were compiled with */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "options.h"

#define MAX_JOBS_DEFAULT	10000
#define MAX_JOBS_MOST		16000000
#define SIZE_MOST		65536	/* bytes: what is greater is no size */

/* A later version appends to them, and keeps these as the least that programs may hand in. */
_Static_assert(sizeof(void *) != 8 ||
	       (sizeof(struct clockfix_options) == 40 && sizeof(struct clockfix_spec) == 56 &&
		sizeof(struct clockfix_stats) == 5232), "they grow at their ends");

/*
 * Copy a structure that begins with its size. Of a greater one, of a newer program, what this library
 * does not know must be zero.
 */
static int sized_get(void *to, size_t size, const void *from)
{
	const unsigned char *bytes = from;
	size_t given;

	memcpy(&given, from, sizeof(given));
	if (given < size || given > SIZE_MOST)
		return -EINVAL;
	for (size_t i = size; i < given; i++) {
		if (bytes[i])
			return -E2BIG;
	}
	memcpy(to, from, size);
	return 0;
}

int sized_return(void *to, const void *from, size_t size)
{
	unsigned char *bytes = to;
	size_t given;

	if (!to)
		return -EINVAL;
	memcpy(&given, to, sizeof(given));
	if (given < size || given > SIZE_MOST)
		return -EINVAL;
	memset(bytes, 0, given);
	memcpy(bytes, from, size);
	memcpy(bytes, &given, sizeof(given));
	return 0;
}

void clockfix_options_init(struct clockfix_options *options)
{
	memset(options, 0, sizeof(*options));
	options->size = sizeof(*options);
	options->cpu = -1;
}

void clockfix_spec_init(struct clockfix_spec *spec)
{
	memset(spec, 0, sizeof(*spec));
	spec->size = sizeof(*spec);
}

static bool in_range(int64_t val, int64_t least, int64_t most)
{
	return val >= least && val <= most;
}

static bool scheduling_ok(const struct clockfix_options *o)
{
	switch (o->policy) {
	case SCHED_OTHER:
		return !o->priority;
	case SCHED_FIFO:
	case SCHED_RR:
		return in_range(o->priority, 1, 99);
	default:
		return false;
	}
}

int options_get(struct clockfix_options *o, const struct clockfix_options *from)
{
	struct clockfix_options defaults;
	int ret;

	clockfix_options_init(&defaults);
	ret = sized_get(o, sizeof(*o), from ? from : &defaults);
	if (ret)
		return ret;
	if (!o->max_jobs)
		o->max_jobs = MAX_JOBS_DEFAULT;
	if (!in_range(o->cpu, -1, CPU_SETSIZE - 1) || !scheduling_ok(o) ||
	    !in_range(o->estimator, CLOCKFIX_ESTIMATOR_DEFAULT, CLOCKFIX_ESTIMATOR_MAXIMUM) ||
	    !in_range(o->late_ppm, 0, 1000000) || !in_range(o->cpu_ppm, 0, 1000000) ||
	    !in_range(o->max_jobs, 16, MAX_JOBS_MOST))
		return -EINVAL;
	return 0;
}

int spec_get(struct clockfix_spec *s, const struct clockfix_spec *from)
{
	int ret;

	if (!from)
		return -EINVAL;
	ret = sized_get(s, sizeof(*s), from);
	if (ret)
		return ret;
	if (!s->fn || !in_range(s->start, 0, INT64_MAX - 1) || s->period < 0 ||
	    (s->runs && !s->period))
		return -EINVAL;
	return 0;
}
