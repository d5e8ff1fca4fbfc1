/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Things that have one value, a text, and what isolating CPUs gives them: files of the kernel, and
 * the priorities of its threads.
 */
#ifndef TIMERSHIELD_RECORDS_H
#define TIMERSHIELD_RECORDS_H

#include "lib/text.h"

/* What a thing had, and the values that we gave and give it; "": none. */
struct record {
	char *what, *original, *before, *wanted;
};

struct records {
	struct record *items;
	size_t count;
};

struct record_kind {
	/* What it is now. 0, -ESRCH if it has gone for good, or -errno. */
	int (*read)(const char *what, struct text *now);
	/* Gives it VALUE in place of NOW. 0, -ESRCH, or -errno after a message. */
	int (*write)(const char *what, const char *value, const char *now);
};

/* The record of WHAT; NULL if there is none. */
struct record *records_find(const struct records *records, const char *what);

/* The strings are copied. */
struct record *records_add(struct records *records, const char *what, const char *original,
			   const char *before, const char *wanted);
/* Puts a copy of VALUE in the place of one of its strings. */
void record_set(char **string, const char *value);
void records_free(struct records *records);

/*
 * Nothing is wanted so far. What is neither of ours, somebody else has given it: that is then the
 * original.
 */
void records_plan(struct records *records, const struct record_kind *kind);

/* What was there before this change is to be there again. */
void records_revert(struct records *records);

/*
 * Gives each what it gets, or has again what it had, unless somebody else has given it something.
 * 0, or the first -errno after a message.
 */
int records_apply(const struct records *records, const struct record_kind *kind);

/* Forgets those that have again what they had. */
void records_forget(struct records *records);

#endif
