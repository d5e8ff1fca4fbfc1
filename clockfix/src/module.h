/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * module.h - what the first call out of a function goes through
 *
 * A call into another library reads two pages that belong to the caller's module, a program or a
 * shared object: the PLT, at the beginning of its code, and its table of addresses (GOT). After a
 * sleep the TLB has lost both, and the caches too: half a microsecond. So they are fetched shortly
 * before the instant. A prefetch can't fault, not even of a module that is gone.
 */
#ifndef CLOCKFIX_MODULE_H
#define CLOCKFIX_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODULE_LINES 8	/* of each: the first functions that it calls */

struct module {
	uintptr_t low, size;		/* of the code */
	const char *code, *table;	/* what to fetch */
};

/* The module of @fn; of code that belongs to none itself. Takes the dynamic linker's lock. */
struct module module_of(uintptr_t fn);

static inline bool module_has(const struct module *module, uintptr_t fn)
{
	return fn - module->low < module->size;
}

static inline void module_fetch(const struct module *module)
{
	for (int i = 0; i < 64 * MODULE_LINES; i += 64) {
		__builtin_prefetch(module->code + i);
		__builtin_prefetch(module->table + i);
	}
}

#endif
