/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cgroup v2 with the cpuset controller. */
#ifndef TIMERSHIELD_CGROUP_H
#define TIMERSHIELD_CGROUP_H

#include "file.h"

/*
 * Finds where cgroup v2 is mounted, "/sys/fs/cgroup" as a rule; the caller frees it.
 * NULL if a partition cannot be had; *WHY then gives the reason.
 */
char *cgroup_mount_point(const char **why);

/* The same with any controllers; NULL: not mounted. */
char *cgroup_find_mount(void);

/* Below the root the group of a task (0: the caller); NULL: there is none. The caller frees it. */
char *cgroup_path(pid_t tid);

/* The path of that group, and in *MOUNT that of the root; NULL likewise. The caller frees both. */
char *cgroup_of(pid_t tid, char **mount);

/* What makes a partition possible where it is not. */
const char *cgroup_mend(void);

/* Whether children of the root have the cpuset controller. */
bool cgroup_controller_enabled(const char *mount);

/*
 * The paths of the groups below GROUP that have FILE, each before those below it: a file that no
 * group has below one without it. Starts with { 0 }.
 */
void cgroup_below(const char *group, const char *file, struct names *groups);

/* A FILE of a GROUP, a path; NULL, or no CPUs, if it cannot be read. The caller frees it. */
char *cgroup_read(const char *group, const char *file);
struct cpus cgroup_read_cpus(const char *group, const char *file);

/* Write a FILE of a GROUP, a path. 0 or -errno; the second one after a message. */
int cgroup_write(const char *group, const char *file, const char *value);
int cgroup_must_write(const char *group, const char *file, const char *value);

/* Makes a group unless it exists. 0, or -errno after a message. */
int cgroup_make(const char *path);

/* Removes a group, if it exists, whose last process may just be leaving. 0 or -errno. */
int cgroup_remove(const char *path);

#endif
