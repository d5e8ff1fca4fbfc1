/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts a process on CPUs, isolated or not, and gives it a policy and priority. */
#ifndef TIMERSHIELD_SCHEDULE_H
#define TIMERSHIELD_SCHEDULE_H

#include "lib/cpus.h"

#include <sys/types.h>

/* No policy, or no priority. */
#define UNSET (-1)

struct placement {
	pid_t pid;			/* 0: this process */
	struct cpus cpus;
	bool listed;			/* else cpus are to be chosen: all isolated ones */
	int policy, priority;
};

/*
 * Sets affinity, and for a process other than this one policy and priority of all its
 * threads. Takes the lock only if the process enters or leaves the partition. 0, or
 * -errno after a message.
 */
int schedule_process(struct placement *placement);

/* Sets the policy of a thread; 0: this one. 0, -ESRCH, or -errno after a message. */
int schedule_thread(pid_t tid, const struct placement *placement);

#endif
