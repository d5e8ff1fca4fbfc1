/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What still runs or interrupts on shielded CPUs, and why. */
#ifndef TIMERSHIELD_UNMOVED_H
#define TIMERSHIELD_UNMOVED_H

#include "cpus.h"
#include "journal.h"

struct unmoved {
	const char *kind;		/* "task" or "irq" */
	char *id, *cpus, *name, *reason;
};

struct unmoved_list {
	struct unmoved *items;
	size_t count;
};

/*
 * Looks at every task and interrupt; with the kernel's own shield, reads its report.
 * Returns 0, or -errno after a message.
 */
int unmoved_find(struct unmoved_list *list, enum backend_id backend, const struct cpus *procs,
		 const struct cpus *irqs);
void unmoved_free(struct unmoved_list *list);

#endif
