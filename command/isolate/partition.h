/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An isolated cpuset partition, "timershield" below the root of cgroup v2.
 *
 * It enables the controller for its own children, which keeps others (systemd does on
 * a reload) from disabling it at the root. Processes live in child groups run-PID.
 */
#ifndef TIMERSHIELD_PARTITION_H
#define TIMERSHIELD_PARTITION_H

#include "journal.h"

/*
 * Makes the partition, or changes its CPUs. With no CPUs: sends its processes back to
 * where they came from, removes it, and disables the controller if the journal says
 * that we enabled it. Each can be done again. 0, or -errno after a message.
 */
int partition_set(const char *mount, struct journal *journal, const struct cpus *cpus);

/* What the kernel says of it. */
struct partition {
	char *state;			/* such as "isolated"; NULL if there is none */
	struct cpus cpus;		/* those that it was given */
	struct cpus isolated;		/* those of them that it isolates now */
};

void partition_read(struct partition *partition, const char *mount);
void partition_free(struct partition *partition);

#endif
