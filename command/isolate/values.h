/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of the kernel that hold one value, such as sysctls, and what the configuration writes there.
 */
#ifndef TIMERSHIELD_VALUES_H
#define TIMERSHIELD_VALUES_H

#include "journal.h"

struct values {
	struct value {
		char *path;		/* may be a pattern, as the shell has them */
		char *text;
	} *items;
	size_t count;
};

/* "/proc/sys/vm/stat_interval 120": below /proc or /sys. 0 or -EINVAL. */
int values_parse(struct values *values, const char *line);
void values_add(struct values *values, const char *path, const char *text);
void values_free(struct values *values);

/* Notes in the journal what each file is to have, if that is to change, and what it had. */
void values_plan(struct journal *journal);

/*
 * Gives each what it gets, or has again what it had. A file that then reads otherwise keeps what it
 * had. 0, or -errno after a message.
 */
int values_apply(const struct journal *journal);

/* Prints what differs; how many. */
int values_verify(const struct values *values);

#endif
