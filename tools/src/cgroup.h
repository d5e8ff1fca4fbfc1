/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An isolated cpuset partition, "timershield" below the root of cgroup v2.
 *
 * It enables the controller for its own children, which keeps others (systemd does on
 * a reload) from disabling it at the root. Processes live in child groups run-PID.
 */
#ifndef TIMERSHIELD_CGROUP_H
#define TIMERSHIELD_CGROUP_H

#include "journal.h"

/*
 * Finds where cgroup v2 is mounted, "/sys/fs/cgroup" as a rule; the caller frees it.
 * NULL if a partition cannot be had; *WHY then says why.
 */
char *cgroup_mount_point(const char **why);

/* What makes a partition possible where it is not. */
const char *cgroup_mend(void);

/* Whether children of the root have the cpuset controller. */
bool cgroup_controller_enabled(const char *mount);

/*
 * Makes the partition, or changes its CPUs. With no CPUs: sends its processes back to
 * where they came from, removes it, and disables the controller if the journal says
 * that we enabled it. Each can be done again. 0, or -errno after a message.
 */
int cgroup_set(const char *mount, struct journal *journal, const struct cpus *cpus);

/* The kernel's word for the partition's state, such as "isolated"; NULL if there is none. */
char *cgroup_partition_state(const char *mount);

/* The cgroup of a process, "/" the root; the caller frees it. NULL if it has gone. */
char *cgroup_of(pid_t pid);
bool cgroup_is_ours(const char *group);

/*
 * Processes all of whose threads asked for shielded CPUs alone stay there: the partition
 * takes them in. Planning notes them in the journal. Releasing sends those back that no
 * longer belong there, before CPUs leave the partition.
 */
void cgroup_plan_adoption(struct journal *journal, const struct cpus *procs);
void cgroup_adopt(const char *mount, const struct journal *journal);
void cgroup_release(const char *mount, const struct journal *journal, const struct cpus *procs);

/* Moves a process, by its number, to ORIGIN or else to the root. 0 or -errno. */
int cgroup_send_back(const char *mount, const char *origin, const char *pid);

/* Removes the groups of processes that have ended, also from the journal. */
void cgroup_remove_unused(const char *mount, struct journal *journal);

/* Moves a process into the child group NAME, which is made. 0, or -errno after a message. */
int cgroup_enter(const char *mount, const char *name, pid_t pid);

#endif
