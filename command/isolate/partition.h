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

struct isolation;

/* Below the mount point of cgroup v2. */
#define PARTITION "/timershield"

/*
 * Makes the partition, or changes its CPUs, and takes in what is to be adopted. With no CPUs: sends
 * its processes back to where they came from, removes it, and disables the controller if the
 * journal says that we enabled it. Each can be done again. 0, or -errno after a message.
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

/* Its processes, each in a child group of its own. */

/* Whether this cgroup is the partition or in it, and whether this process is. */
bool partition_is(const char *group);
bool partition_has(pid_t pid);

/* Moves a process into the child group NAME, which is made. 0, or -errno after a message. */
int partition_enter(const char *mount, const char *name, pid_t pid);

/* Moves a process back to where it came from. 0, or -errno after a message. */
int partition_leave(const char *mount, const struct journal *journal, pid_t pid);

/*
 * Processes all of whose threads asked for isolated CPUs alone stay there: the partition
 * takes them in. Planning notes them in the journal. Releasing sends those back that no
 * longer belong there, before CPUs leave the partition; always 0.
 */
void partition_plan_adoption(struct journal *journal, const struct cpus *procs);
int partition_release(struct isolation *isolation);

/* Removes the groups of processes that have ended, also from the journal. */
void partition_forget_ended(const char *mount, struct journal *journal);

#endif
