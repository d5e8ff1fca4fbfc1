/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why the kernel refuses a real-time priority. It says EPERM for all of it: a limit, a namespace in
 * which CAP_SYS_NICE does not count, a cgroup without real-time budget, a filter of system calls.
 */
#ifndef TIMERSHIELD_REFUSAL_H
#define TIMERSHIELD_REFUSAL_H

#include <stdbool.h>
#include <sys/types.h>

struct refusal {
	char *reason, *mend;		/* a clause; what to do */
};

/* The highest FIFO priority that this process may give, by its capabilities and limits; -1: not known. */
long long refusal_limit(void);

/* Fills in what is in the way of FIFO PRIORITY for task TID (0: the caller), if it is seen. */
bool refusal_find(struct refusal *refusal, pid_t tid, int priority);
void refusal_free(struct refusal *refusal);

/* After setscheduler failed with ERROR: a message that gives the reason. Returns ERROR. */
int refusal_failed(int error, pid_t tid, int priority);

#endif
