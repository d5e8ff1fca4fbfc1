/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What still runs or interrupts on isolated CPUs, and why. */
#ifndef TIMERSHIELD_UNMOVED_H
#define TIMERSHIELD_UNMOVED_H

#include "isolation.h"

struct unmoved {
	const char *kind;		/* "task" or "irq" */
	char *id, *cpus, *name, *reason;
};

struct unmoved_list {
	struct unmoved *items;
	size_t count;
};

/*
 * Looks at every task and interrupt; with the kernel's own isolation, reads its report.
 * Returns 0, or -errno after a message.
 */
int unmoved_find(struct unmoved_list *list, const struct isolation *isolation);
void unmoved_free(struct unmoved_list *list);

#endif
