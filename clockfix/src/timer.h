/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* timer.h - make and free a timer; for tests, which do without its worker's thread */
#ifndef CLOCKFIX_TIMER_H
#define CLOCKFIX_TIMER_H

#include "state.h"

/* a timer without its worker */
int timer_new(struct clockfix **timer, const struct clockfix_options *options);
void timer_free(struct clockfix *timer);

#endif
