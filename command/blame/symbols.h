/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's functions by address, from /proc/kallsyms. */
#ifndef TIMERSHIELD_BLAME_SYMBOLS_H
#define TIMERSHIELD_BLAME_SYMBOLS_H

#include "blame_types.h"
#include "lib/text.h"

/* 0, or -errno with the reason and what to do in WHY. */
int symbols_read(struct text *why);

/* 0 if there is no such function. */
u64 symbol_address(const char *name);

/* The function that contains this address; NULL if none does. */
const char *symbol_around(u64 address);

/* The function at this address; NULL if it is not known. */
const char *symbol_name(u64 address);

#endif
