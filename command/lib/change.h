/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that changes the system's state goes through here, so that a dry run can
 * list it instead.
 */
#ifndef TIMERSHIELD_CHANGE_H
#define TIMERSHIELD_CHANGE_H

#include "cpus.h"

#include <sys/types.h>

struct change {
	const char *what;		/* write, mkdir, rmdir, affinity, priority, modprobe */
	char *where;			/* a path, a task or a module */
	char *value;			/* "" for mkdir, rmdir and modprobe */
};

/* To only list what would be changed; every change succeeds then. */
extern bool change_only_list;
const struct change *change_listed(size_t *count);

/* All return 0 or -errno. */
int change_write(const char *path, const char *value);
int change_mkdir(const char *path);
int change_rmdir(const char *path);
int change_affinity(pid_t tid, const struct cpus *cpus);
int change_priority(pid_t tid, int policy, int priority);
int change_modprobe(const char *module);

#endif
