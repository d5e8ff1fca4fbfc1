/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What still runs or interrupts on isolated CPUs, and why. */
#ifndef TIMERSHIELD_LEFTOVERS_H
#define TIMERSHIELD_LEFTOVERS_H

#include "isolation.h"

struct leftover {
	const char *kind;		/* "task", "irq" or "queue", of a network device */
	char *id, *cpus, *name, *reason;
};

struct leftovers {
	struct leftover *items;
	size_t count;
};

/*
 * Looks at every task, interrupt and receive queue; with the kernel's own isolation, reads its report.
 * Returns 0, or -errno after a message.
 */
int leftovers_find(struct leftovers *list, const struct isolation *isolation);
void leftovers_free(struct leftovers *list);

#endif
