/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The journal as text; journal_text.c describes the format. */
#ifndef TIMERSHIELD_JOURNAL_TEXT_H
#define TIMERSHIELD_JOURNAL_TEXT_H

#include "journal.h"

/* BOOT identifies this boot. The caller frees the text. */
char *journal_text(const struct journal *journal, const char *boot);

/* Returns 0, -ESTALE for another boot, or -EBADMSG; JOURNAL is empty then. */
int journal_parse(struct journal *journal, const char *text, size_t length, const char *boot);

#endif
