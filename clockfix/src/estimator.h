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
#define CLASSES		6	/* DEFAULT: of lengths of sleep */
#define PHASES		256	/* DEFAULT: of the kernel's tick */

/* The last values, in order of arrival and in order of size. */
struct window {
	uint32_t size;			/* values kept at most */
	uint32_t count;
	uint32_t oldest;
	int32_t ring[WINDOW_MAX];
	int32_t sorted[WINDOW_MAX];
};

enum { CALM, ROUGH, MOODS };	/* of a phase of the tick */

struct regime {
	struct window window[MOODS];
	uint32_t late_ppm;
	int64_t price;			/* ns of polling that a punctual job is worth, in 1/1024 */
	int64_t margin[MOODS];
	bool stale;			/* the margins are to be computed anew */
	int64_t cut;			/* decay: less than the prediction by that much */
	uint32_t patience, declined;	/* sleeps declined before decay; so far */
};

struct estimator {
	enum clockfix_estimator kind;
	int64_t prediction;		/* the last */
	uint64_t decays, changes;
	/* DEFAULT */
	int64_t tick;			/* period of the kernel's tick; 0: not known. Who does sets it */
	uint16_t rough[PHASES];		/* share of high oversleeps in that phase, in 1/65536 */
	int64_t calm;			/* the last prediction if the phase were calm, */
	unsigned int asked;		/* the phase it leads to, */
	unsigned int mood;		/* and what that is */
	int64_t until;			/* end of that sleep; to be set if it is another */
	union {
		struct window window;
		struct regime regime[CLASSES];
	};
};

void estimator_init(struct estimator *est, const struct clockfix_options *options);

/* the oversleep to expect of a sleep of @length ns for what is to be done at @instant */
int64_t estimator_predict(struct estimator *est, int64_t length, int64_t instant);

/* the sleep that this was asked for ended @oversleep ns late */
void estimator_learn(struct estimator *est, int64_t oversleep, int64_t length);

/*
 * Two jobs ran without a sleep between. For the second a sleep of @length ns was declined because
 * of the prediction; 0: there was no time to sleep. Makes estimators forget, so that a single
 * outlier does not keep them from ever sleeping and learning again.
 */
void estimator_decay(struct estimator *est, int64_t length);

#endif
