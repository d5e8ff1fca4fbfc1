/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The switch of the timer shield, which the configuration sets and unisolate restores. */
#ifndef TIMERSHIELD_VALUES_H
#define TIMERSHIELD_VALUES_H

#include "journal.h"

/* Notes in the journal what it is to have, if that is to change, and what it had. */
void values_plan(struct journal *journal);

/* Gives it what it gets, or has again what it had. 0, or -errno after a message. */
int values_apply(const struct journal *journal);

#endif
