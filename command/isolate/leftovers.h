/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What still runs or interrupts on isolated CPUs, and why. */
#ifndef TIMERSHIELD_LEFTOVERS_H
#define TIMERSHIELD_LEFTOVERS_H

#include "isolation.h"

struct leftover {
	const char *kind;		/* "task", "irq" or "queue", of a network device */
	char *id, *name, *reason;
	struct cpus cpus;
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

/* What is isolated now and what could not be moved; or the list of a dry run. 0 or -errno. */
int isolate_print(const struct isolation *isolation);

/* An array of all; a table with INDENT before each line, the like of one CPU each in one. */
void leftovers_json(const char *key, const struct leftovers *list);
void leftovers_print_grouped(const struct leftovers *list, const char *indent);

/* "CPUs 2-3 are isolated from tasks and interrupts"; the caller frees it. */
char *isolate_sentence(const struct cpus *procs, const struct cpus *irqs);

#endif
