/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * paper.h - the paper's filters of oversleeps: none, average, maximum [IV.a]
 *
 * They predict the average or the greatest of the last few oversleeps. If there was no sleep
 * between two jobs all values are reduced by a quarter, so that an outlier does not keep a
 * program from ever sleeping again.
 */
#ifndef CLOCKFIX_PAPER_H
#define CLOCKFIX_PAPER_H

#include <stdint.h>

#include "clockfix.h"

#define FILTER_WINDOW 64

struct filter {
	enum clockfix_estimator kind;
	unsigned int count, next;
	int64_t value[FILTER_WINDOW];
	int64_t prediction;
};

static inline void filter_predict(struct filter *f)
{
	int64_t sum = 0, most = 0;

	for (unsigned int i = 0; i < f->count; i++) {
		sum += f->value[i];
		most = f->value[i] > most ? f->value[i] : most;
	}
	f->prediction = f->kind == CLOCKFIX_ESTIMATOR_MAXIMUM ? most :
			f->kind == CLOCKFIX_ESTIMATOR_AVERAGE && f->count ? sum / f->count : 0;
}

static inline void filter_learn(struct filter *f, int64_t oversleep)
{
	f->value[f->next] = oversleep;
	f->next = (f->next + 1) % FILTER_WINDOW;
	f->count += f->count < FILTER_WINDOW;
	filter_predict(f);
}

static inline void filter_decay(struct filter *f)
{
	for (unsigned int i = 0; i < f->count; i++)
		f->value[i] -= f->value[i] / 4;
	filter_predict(f);
}

#endif
