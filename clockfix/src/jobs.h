/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* jobs.h - what the worker and submitters both do with jobs: prepare, fill and count them */
#ifndef CLOCKFIX_JOBS_H
#define CLOCKFIX_JOBS_H

#include "state.h"

/* list, tree and the reserve; before there is a worker */
int timer_jobs_init(struct clockfix *timer);

/* Fill a slot; its phase stays FREE. */
void slot_fill(struct clockfix *timer, struct slot *slot, const struct clockfix_spec *spec);

/* What it was filled with, but for @instant. If the slot is another job's by now: something. */
void slot_spec(const struct slot *slot, int64_t instant, struct clockfix_spec *spec);

uint64_t timer_pending(struct clockfix *timer);

/* To be called after pending jobs have become less. */
void timer_note_ended(struct clockfix *timer);

#endif
