/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What would take a culprit away, on this machine. */
#ifndef TIMERSHIELD_BLAME_REMEDY_H
#define TIMERSHIELD_BLAME_REMEDY_H

#include "source.h"

/*
 * A command, or a phrase that says what to do; the caller frees it. NULL if nothing is known that
 * helps here: no option that the kernel was not built with, no isolation that cannot be had or
 * that does not remove this cause.
 */
char *remedy_for(const struct blame_victim *victim, const struct blame_row *row,
		 enum masked masked);

/* What was read of the machine is forgotten. */
void remedy_free(void);

#endif
