/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The journal's file, and the lock that whoever changes anything holds. */
#ifndef TIMERSHIELD_JOURNAL_FILE_H
#define TIMERSHIELD_JOURNAL_FILE_H

#include "journal.h"

#define RUN_DIRECTORY "/run/timershield"
#define JOURNAL_FILE RUN_DIRECTORY "/journal"

/*
 * Reads the journal; a missing one, or one of another boot, leaves an empty JOURNAL.
 * Returns 0; -EBADMSG if it is damaged; or -errno.
 */
int journal_load(struct journal *journal);

/* Puts the journal where journal_load() finds it. 0 or -errno. */
int journal_save(const struct journal *journal);

/* Removes the file, and what a save that was killed left. 0 or -errno. */
int journal_remove(void);

/*
 * Creates /run/timershield if need be, and waits until no other timershield changes
 * anything; prints a message if it has to wait. Returns a file descriptor, which holds
 * the lock until it is closed, also by exec() or by the process's end; or -errno after
 * a message.
 */
int journal_lock(void);

#endif
