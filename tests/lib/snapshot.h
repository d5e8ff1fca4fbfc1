/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that says which CPUs tasks and interrupts may use, as text: every task's
 * Cpus_allowed, every file of an interrupt's affinity, the default one, the masks of
 * unbound kernel work, the cgroup tree with its controllers and cpusets, and
 * /run/timershield.
 */
#ifndef TESTS_SNAPSHOT_H
#define TESTS_SNAPSHOT_H

#include "tap.h"

struct snapshot {
	char *text;			/* lines "WHAT VALUE" */
	size_t length, size;
};

void snapshot_take(struct snapshot *snapshot);
void snapshot_free(struct snapshot *snapshot);

/*
 * The differences, each told; tasks are compared if they are in both. Workers of the
 * kernel are left out: the kernel makes and ends them as it likes.
 */
unsigned int snapshot_compare(const struct snapshot *before, const struct snapshot *after,
			      const char *when);

/* Takes another one and compares. */
unsigned int snapshot_check(const struct snapshot *before, const char *when);

#endif
