/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * estimator.h - predict the next oversleep from those seen [IV.a]
 *
 * Pure computation: no clock, no memory beyond the structure. Oversleeps are forgotten after 512
 * sleeps of about that length. If they had widened the window the price is then what it was before,
 * within a factor of two; else it fades by 0.05 % a sleep. Learning takes the same time whatever the
 * values, within some tens of nanoseconds, as it happens just before a job runs.
 */
#ifndef CLOCKFIX_ESTIMATOR_H
#define CLOCKFIX_ESTIMATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "clockfix.h"
#include "paper.h"

#define WINDOW	512
#define CLASSES	6	/* of lengths of sleep */
#define WIDTHS	12	/* of windows */

/* The last values, in order of arrival and in order of size. */
struct window {
	uint32_t count;
	uint32_t oldest;
	int32_t ring[WINDOW];
	int32_t sorted[WINDOW];
};

/* What is known of sleeps of about the same length. */
struct regime {
	struct window window;
	uint32_t late_ppm;		/* the share of late sleeps that it aims at */
	double spread;			/* the price of a late sleep, times that share, in ns */
	double spread_at[WIDTHS];	/* the last one while the window was that wide; 0: never */
	unsigned int width;
	double raise;			/* what a late sleep multiplies it by */
	uint32_t after_trial;		/* sleeps until the last trial is forgotten */
	double credit;			/* late sleeps that trials may cause */
	int64_t margin;
	double cost;			/* of sleeping with that margin, in ns of polling */
	bool stale;			/* the margin is to be computed anew */
	enum clockfix_limit limit;	/* what keeps it from that share */
};

struct estimator {
	int64_t prediction;		/* the last */
	uint64_t trials;
	bool trial;			/* the last one was for a trial */
	bool asked;			/* the program said which share may be late */
	double budget;			/* share of a CPU that waiting may take; 0: no limit */
	int64_t sleep_cost;		/* ns of CPU time that a sleep takes; its user sets it */
	enum clockfix_limit limit;
	struct regime regime[CLASSES];
	struct filter paper;		/* if its kind is not 0: instead */
};

void estimator_init(struct estimator *est, const struct clockfix_options *options);

/*
 * The oversleep to expect of a sleep of @length ns. Not below @most if it is better not to sleep:
 * with a margin of @most the sleep would be as short as a sleep may be. Now and then that is
 * risked all the same, to learn whether oversleeps have become shorter: a trial.
 */
int64_t estimator_predict(struct estimator *est, int64_t length, int64_t most);

/* the sleep that this was asked for ended @oversleep ns late */
void estimator_learn(struct estimator *est, int64_t oversleep, int64_t length);

/* the share of late sleeps, in millionths, that is aimed at for sleeps of @length ns */
uint32_t estimator_aim(const struct estimator *est, int64_t length);

#endif
