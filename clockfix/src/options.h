/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* options.h - check what users hand in, whatever version they were compiled with */
#ifndef CLOCKFIX_OPTIONS_H
#define CLOCKFIX_OPTIONS_H

#include "clockfix.h"

/* Check, and convert from another version's size; -EINVAL, -E2BIG. */
int options_get(struct clockfix_options *to, const struct clockfix_options *from);
int spec_get(struct clockfix_spec *to, const struct clockfix_spec *from);

/*
 * The other way: fill a program's structure, which begins with its size. What this library does
 * not know of becomes 0. -EINVAL: it is smaller than @size, or its size is absurd.
 */
int sized_return(void *to, const void *from, size_t size);

#endif
