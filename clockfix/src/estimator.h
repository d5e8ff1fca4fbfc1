/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * estimator.h - predict the next oversleep from those seen [IV.a]
 *
 * Pure computation: no clock, no memory beyond the structure. Learning takes the same time
 * whatever the values, within some tens of nanoseconds, as it happens just before a job runs.
 */
#ifndef CLOCKFIX_ESTIMATOR_H
#define CLOCKFIX_ESTIMATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "clockfix.h"

#define WINDOW_MAX	1024
#define CLASSES		6	/* REGIME: of lengths of sleep */
#define RECENT		16	/* REGIME: values that a change is judged by */

/* The last values, in order of arrival and in order of size. */
struct window {
	uint32_t size;			/* values kept at most */
	uint32_t count;
	uint32_t oldest;
	int32_t ring[WINDOW_MAX];
	int32_t sorted[WINDOW_MAX];
};

struct regime {
	struct window window;
	uint32_t above, below;		/* bit per recent value: above what one in 64 */
					/* exceeded; in the lower quarter */
	int64_t ranked;			/* what the window says */
	int64_t prediction;		/* the same or, after decay, less */
	uint32_t patience, declined;	/* sleeps declined before decay; so far */
};

struct estimator {
	enum clockfix_estimator kind;
	uint32_t late_ppm;
	int64_t prediction;
	uint64_t decays, changes;
	int64_t sum;			/* AVERAGE */
	int64_t deviation;		/* QUANTILE: scale of its steps */
	union {
		struct window window;
		struct regime regime[CLASSES];
	};
};

void estimator_init(struct estimator *est, const struct clockfix_options *options);

/* the oversleep to expect of a sleep of @length ns */
int64_t estimator_predict(const struct estimator *est, int64_t length);

/* a sleep of @length ns ended @oversleep ns late */
void estimator_learn(struct estimator *est, int64_t oversleep, int64_t length);

/*
 * Two jobs ran without a sleep between. For the second a sleep of @length ns was declined because
 * of the prediction; 0: there was no time to sleep. Makes estimators forget, so that a single
 * outlier does not keep them from ever sleeping and learning again.
 */
void estimator_decay(struct estimator *est, int64_t length);

#endif
