/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cgroups of others that want CPUs for themselves.
 *
 * Linux 6.12 ends such a partition, for good, as soon as another group names one of its CPUs,
 * also if that other one is then refused. So they are found before the first write.
 */
#ifndef TIMERSHIELD_RIVALS_H
#define TIMERSHIELD_RIVALS_H

#include "lib/cpus.h"

struct rival {
	char *group;			/* a path */
	char *type;			/* such as "root" or "isolated invalid (...)" */
	struct cpus cpus;
};

struct rivals {
	struct rival *items;
	size_t count;
	struct cpus taken;		/* by partitions that are valid */
	bool isolate;			/* one of these is isolated */
};

/* Finds all of them below the mount point of cgroup v2, but for our own. */
void rivals_find(struct rivals *rivals, const char *mount);
void rivals_free(struct rivals *rivals);

/* "GROUP/cpuset.cpus, ..." of those that want some of these CPUs, or ""; the caller frees it. */
char *rivals_named(const struct rivals *rivals, const struct cpus *cpus);

/* Writes its type back to each partition that was valid and is not any more. */
void rivals_restore(const struct rivals *rivals);

#endif
