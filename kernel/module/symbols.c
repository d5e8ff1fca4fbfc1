// SPDX-License-Identifier: GPL-2.0-only
/*
 * The addresses of functions that are not exported. What is exported tells the name of an
 * address, not the address of a name, so look at one symbol of the kernel after the other.
 * kprobes would find an address by itself, but not all kernels have them.
 */
#include <linux/kallsyms.h>
#include <linux/sched.h>

#include "shield.h"

/* The symbol at an address. False: it is none of the kernel's, or all have been found. */
static bool look_at(unsigned long address, struct symbol *symbols, unsigned int nr,
		    unsigned long *start, unsigned long *end)
{
	char text[KSYM_SYMBOL_LEN];
	unsigned long offset, size;
	bool missing = false;
	unsigned int i;

	sprint_symbol(text, address);
	if (sscanf(text + strcspn(text, "+"), "+0x%lx/0x%lx", &offset, &size) != 2 || !size)
		return false;
	*start = address - offset;
	*end = *start + size;
	text[strcspn(text, "+")] = '\0';
	for (i = 0; i < nr; i++) {
		if (!symbols[i].address && !strcmp(text, symbols[i].name))
			symbols[i].address = (void *)*start;
		missing |= !symbols[i].address;
	}
	cond_resched();
	return missing;
}

void symbols_find(struct symbol *symbols, unsigned int nr)
{
	unsigned long start = (unsigned long)hrtimer_start_range_ns, end = start, unused;

	while (look_at(end, symbols, nr, &unused, &end))
		;
	while (look_at(start - 1, symbols, nr, &start, &unused))
		;
}
