/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* worker.h - the worker: wait for the earliest job, run it [III.f] */
#ifndef CLOCKFIX_WORKER_H
#define CLOCKFIX_WORKER_H

#include "state.h"

/* One turn of the worker: wait for the earliest job and run it. False: it is to end. */
bool worker_turn(struct clockfix *timer);

/* Is the calling thread this timer's worker? */
bool worker_is_self(const struct clockfix *timer);
void worker_set_self(const struct clockfix *timer);

/* Called by a job. */
int worker_submit(struct clockfix *timer, const struct clockfix_spec *spec, clockfix_job *job);
int worker_cancel(struct clockfix *timer, clockfix_job job, enum phase running);
int worker_reschedule(struct clockfix *timer, clockfix_job *job, int64_t instant);
int worker_adjust(struct clockfix *timer, clockfix_job job, int64_t shift, int64_t period);

#endif
