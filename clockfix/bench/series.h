/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * series.h - series of oversleeps, and estimators that meet one
 *
 * A series is a text file: lines "# interval NS" and "# tick NS", then a line for each sleep: how
 * late it ended, and when it should have, in ns. On a recorded series all estimators meet the same
 * oversleeps, which live they never do; so this compares them exactly, but for one thing: live,
 * the next oversleep also depends on until when the estimator let the CPU sleep.
 */
#ifndef SERIES_H
#define SERIES_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "estimator.h"
#include "paper.h"

#define SLEEP_MIN 1000

struct series {
	int64_t interval, tick;
	struct {
		int64_t oversleep, until;
	} *sleep;
	size_t count;
};

static inline int series_grow(struct series *series, size_t *room)
{
	void *more;

	if (series->count < *room)
		return 0;
	*room = *room ? 2 * *room : 4096;
	more = realloc(series->sleep, *room * sizeof(*series->sleep));
	if (!more)
		return -ENOMEM;
	series->sleep = more;
	return 0;
}

static inline int series_read(const char *path, struct series *series)
{
	FILE *f = fopen(path, "r");
	long long val, until;
	size_t room = 0;
	char line[128];
	int ret = 0;

	memset(series, 0, sizeof(*series));
	if (!f)
		return -errno;
	while (!ret && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "# interval %lld", &val) == 1)
			series->interval = val;
		if (sscanf(line, "# tick %lld", &val) == 1)
			series->tick = val;
		if (sscanf(line, "%lld %lld", &val, &until) < 2)
			continue;
		ret = series_grow(series, &room);
		if (!ret) {
			series->sleep[series->count].oversleep = val;
			series->sleep[series->count++].until = until;
		}
	}
	fclose(f);
	if (ret)
		return ret;
	return series->count && series->interval > 0 ? 0 : -EINVAL;
}

struct outcome {
	uint64_t late;		/* by more than 1 us */
	uint64_t slept;
	int64_t polled;
};

/* What became of the sleep number @i with that margin; returns whether there was one. */
static inline bool outcome_add(struct outcome *out, const struct series *series, size_t i,
			       int64_t margin)
{
	int64_t value = series->sleep[i].oversleep;

	if (series->interval - margin < SLEEP_MIN) {
		out->polled += series->interval;
		return false;
	}
	out->slept++;
	out->late += value > margin + 1000;
	out->polled += margin > value ? margin - value : 0;
	return true;
}

static inline struct outcome replay(const struct series *series,
				    const struct clockfix_options *options)
{
	struct outcome out = { 0 };
	struct estimator est;

	estimator_init(&est, options);
	for (size_t i = 0; i < series->count; i++) {
		int64_t margin = estimator_predict(&est, series->interval,
						   series->interval - SLEEP_MIN);

		if (outcome_add(&out, series, i, margin))
			estimator_learn(&est, series->sleep[i].oversleep, series->interval);
	}
	return out;
}

static inline struct outcome replay_filter(const struct series *series, enum filter_kind kind,
					   unsigned int window)
{
	struct filter filter = { .kind = kind, .window = window };
	struct outcome out = { 0 };

	for (size_t i = 0; i < series->count; i++) {
		if (outcome_add(&out, series, i, filter.prediction))
			filter_learn(&filter, series->sleep[i].oversleep);
		else
			filter_decay(&filter);
	}
	return out;
}

#endif
