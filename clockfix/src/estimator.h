/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * estimator.h - how long before an instant to end a sleep [IV.a]
 *
 * Pure computation. For each class of lengths of sleep there is a histogram of oversleeps, in which
 * the past fades, and the price of a late sleep. A margin costs what is polled because of it and the
 * price of what is late all the same; the cheapest is taken. So a single outlier does not raise it.
 */
#ifndef CLOCKFIX_ESTIMATOR_H
#define CLOCKFIX_ESTIMATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "clockfix.h"
#include "paper.h"

#define CLASSES	6		/* up to 32 us, 128 us, 512 us, 2 ms, 8 ms, and above */
#define PARTS	16		/* of each power of two ns */
#define BUCKETS	(22 * PARTS)	/* 512 ns to 2 s */

/* What is known of sleeps of about the same length. */
struct regime {
	float weight[BUCKETS];	/* of the oversleeps seen; of a new one 1 */
	float total;
	double aim;		/* share of sleeps that may be late */
	double gain;		/* corrects the price by what was seen to be late */
	double credit;		/* late sleeps that trials may cause */
};

struct estimator {
	int64_t prediction;	/* the last */
	bool trial;		/* the last one was for a trial */
	bool asked;		/* the program said which share may be late */
	double budget;		/* share of a CPU that waiting may take; 0: no limit */
	int64_t sleep_cost;	/* ns of CPU time that a sleep takes; its user sets it */
	struct regime regime[CLASSES];
	struct filter paper;	/* if its kind is not 0: instead */
};

void estimator_init(struct estimator *est, const struct clockfix_options *options);

/*
 * The oversleep to expect of a sleep of @length ns. Not below @most if it is better not to sleep:
 * with a margin of @most the sleep would be as short as a sleep may be. Now and then that is
 * risked all the same, to learn whether oversleeps have become shorter: a trial.
 */
int64_t estimator_predict(struct estimator *est, int64_t length, int64_t most);

/* The sleep that this was asked for ended @oversleep ns late. Just before a job runs: it is short. */
void estimator_learn(struct estimator *est, int64_t oversleep, int64_t length);

#endif
