/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What prove changes, and how it was before, is in isolate's journal before anything is changed, so
 * that the next start can put back what one that was killed left. The caller holds the journal's
 * lock. All return 0, or -errno after a message.
 */
#ifndef TIMERSHIELD_UNDO_H
#define TIMERSHIELD_UNDO_H

#include "isolate/journal.h"

/* Loads the journal, and puts back what a killed one left, if anything, with a note. */
int undo_leftovers(struct journal *journal);

/* Makes the loads' GROUP, unless that is NULL; loads the module. */
int undo_begin(struct journal *journal, const char *group, bool load);

/* Sets the shield's mode, unless somebody else has meanwhile (-EBUSY). */
int undo_switch(struct journal *journal, int mode);

/* Puts everything back; what is left is still recorded. */
int undo_all(struct journal *journal);

#endif
